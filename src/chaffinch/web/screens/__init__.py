"""The screens of the page, a file each: what is shown, and what a form changes."""
