"""Not part of an answer: simulated crowds, a comparison of methods, and the paper made again.

It may import every other room but ``cli``, and only ``cli`` imports it.

Begin with ``simulate`` (crowds of workers whose truth is known), ``compare`` or ``paper``.
"""
