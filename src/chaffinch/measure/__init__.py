"""What a synthetic table is worth (`utility`) and what it gives away (`risk`): small results that hold no rows."""
