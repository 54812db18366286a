"""What a set of outputs gives away: datasets evolved from them attack the people they come from, and people they do not."""
