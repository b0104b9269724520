"""The synthesiser: persona → states with their intervals → event chains → logs of 16 apps, and the gold of all of it.

It follows reference 6.2 without a model. Every random draw is keyed by its place in a
tree (seed, user, domain, state, window, …), never by what was drawn before, so that one
state more changes no other state's logs but for ids and running totals of the apps.
"""
