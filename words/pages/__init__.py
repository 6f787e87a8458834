"""Web pages.

page         from `page(...)` to its objects; har: from a recording
web_objects  what objects are: MIME types, and what may refer to others
"""
