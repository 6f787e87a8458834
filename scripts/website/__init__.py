"""The project's site: pages, a gallery, live reports and packs, as files without a server."""
