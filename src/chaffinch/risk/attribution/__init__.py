"""Attribute disclosure: what an attacker who knows some columns of a person learns about the others."""
