"""flash-attn's names over flashfit, for hosts that ask for that package by its name: what a shim and a hub kernel hold.

Beside what flashfit.flash_attn has, hosts look for sinks as a named parameter, for flash-attn's private functions and
for its compiled module.
"""
