"""What is measured, one module a subject. A scenario drives an installation and adds its lines to the report."""
