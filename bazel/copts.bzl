"""The warnings that csp's own code is compiled with.

-Werror is not among them: .bazelrc adds it for this workspace alone.
"""

CSP_COPTS = [
    "-Wall",
    "-Wextra",
    "-Wnon-virtual-dtor",
    "-Woverloaded-virtual",
]
