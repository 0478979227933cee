"""Not part of an answer: simulated crowds, a comparison of methods, and the paper made again.

It may import every other room but ``cli``. Only ``cli`` and the package itself, for ``crowdopt.compare``, import it.

Begin with ``simulate`` (crowds of workers whose truth is known), ``compare`` or ``paper``.
"""
