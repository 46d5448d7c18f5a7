"""The icons, as SVG."""
