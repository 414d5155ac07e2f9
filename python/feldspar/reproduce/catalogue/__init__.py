"""The papers' experiments, a file for each paper: rows, columns, protocol."""

from feldspar.reproduce._experiment import Experiment
from feldspar.reproduce.catalogue.davis2010 import davis2010
from feldspar.reproduce.catalogue.lee2007 import lee2007
from feldspar.reproduce.catalogue.lowd2012 import lowd2012
from feldspar.reproduce.catalogue.lowd2014 import lowd2014
from feldspar.reproduce.catalogue.vanhaaren2012 import vanhaaren2012

__all__ = ["catalogue"]


def catalogue() -> dict[str, Experiment]:
    """Return all experiments by name.

    Examples
    --------
    >>> list(catalogue())[:2]
    ['lowd2014-table2', 'lowd2014-table3']
    """
    papers = (lowd2014, davis2010, lowd2012, vanhaaren2012, lee2007)
    return {experiment.name: experiment for paper in papers for experiment in paper()}
