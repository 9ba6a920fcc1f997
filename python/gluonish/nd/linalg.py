"""Linear algebra with MXNet's names, over leading batch axes; each is also a function of `nd`: ``nd.linalg_potrf``.

``gemm gemm2 syrk trmm`` multiply, ``potrf potri trsm`` are Cholesky factors and triangular systems, ``gelqf syevd`` the
LQ factors and eigenvectors, ``det slogdet inverse`` what they say; ``makediag extractdiag maketrian extracttrian
sumlogdiag`` put diagonals and triangles into matrices and take them out.

>>> from gluonish import nd
>>> a = nd.array([[4, 2], [2, 5]])
>>> nd.linalg.potrf(a).tolist()
[[2.0, 0.0], [1.0, 2.0]]
>>> nd.linalg.sumlogdiag(nd.linalg.potrf(a)) * 2 - nd.linalg.slogdet(a)[1]
0.0
<NDArray () @cpu(0)>
"""

from gluonish._faces import functions
from gluonish._missing import explained

globals().update(functions("nd", "linalg"))

__getattr__ = explained("gluonish.nd.linalg", functions("nd", "linalg"))
