"""The experiments of Frandi, Nanculef, Gasparo, Lodi and Sartori, "Training Support Vector Machines
Using Frank-Wolfe Optimization Methods", run again with this package.

    python -m experiments                 # everything that was not run yet, then the report
    python -m experiments.effect_of_c     # one script for each table or figure

`sets` and `cells` say what is run, `plan` in which order, `worker` runs, `results` keeps.
`table_*`, `figure_*` and `effect_of_c` are the parts of the report; `report` puts them together.
"""
