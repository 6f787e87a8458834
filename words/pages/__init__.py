"""Web pages.

page         from `page(...)` to its objects; har: from a recording
web_objects  MIME types of objects, and which of them may refer to others
"""
