def f(a):
    return eval(a)  # HIT
