"""`fifo`: first in, first out."""
