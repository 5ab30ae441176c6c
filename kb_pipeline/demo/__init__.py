"""The demo site: the website of a product that does not exist, served on loopback, with the good and the
awkward pages that real sites have. It knows nothing of the pipeline that reads it."""

from kb_pipeline.demo.server import DEFAULT_PORT, DemoServer, serve_demo_site
from kb_pipeline.demo.site import ADDED_PATH, CHANGED_PATH, DELETED_PATH, DemoSite

__all__ = [
    "ADDED_PATH",
    "CHANGED_PATH",
    "DEFAULT_PORT",
    "DELETED_PATH",
    "DemoServer",
    "DemoSite",
    "serve_demo_site",
]
