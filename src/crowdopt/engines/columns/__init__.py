"""Column generation: optima of many labels or classes of workers, proved by dual prices of buckets.

Begin with ``engine`` (the engine and its cost) and ``relaxation`` (why prices give a bound). ``engine_all`` runs over
all mappings, ``engine_ordered`` over those that respect the order. A run asks ``prover`` for prices that prove its best
mapping: ``dual_prices`` finds them by projections, ``master_lp`` (the restricted master, the one module that imports
highspy) where these fail, ``pricing*`` tells which sets of buckets violate them. ``branch_and_bound`` splits the space
where no prices prove enough. This room imports ``model``, and ``base`` and the searches of ``engines``.
"""
