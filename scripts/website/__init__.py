"""The project's site: its pages, a gallery, live reports and packs, as files that need no server."""
