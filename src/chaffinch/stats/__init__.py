"""Statistics that utility, risk and outputs share: intervals, members minus others, families of
tests, learners.
"""
