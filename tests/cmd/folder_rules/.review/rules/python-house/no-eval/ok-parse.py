def f(a):
    return parse(a)
