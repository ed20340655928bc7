"""x"""
def page(study, w): return ""
def results_json(study): return {}
