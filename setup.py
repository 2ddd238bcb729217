"""Four folders of this checkout are installed under one name, so that none hides a user's own.

What else there is to say of the package stands in pyproject.toml.
"""

from setuptools import find_namespace_packages, setup

FOLDERS = ("pipelines", "flows", "dedup", "sizing")

setup(
    packages=[
        f"tokenmill.{package}"
        for folder in FOLDERS
        for package in find_namespace_packages(include=[folder, f"{folder}.*"])
    ],
    package_dir={f"tokenmill.{folder}": folder for folder in FOLDERS},
)
