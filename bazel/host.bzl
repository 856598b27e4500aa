"""Finds out where this machine's dependencies come from."""

def _csp_host_impl(ctx):
    choice = ctx.os.environ.get("CSP_DEPS", "auto")
    if choice == "auto":
        # Debian's own Bazel cannot be assumed to reach anything but Debian.
        choice = "debian" if ctx.path("/usr/share/bazel/A-server.jar").exists else "download"
    if choice not in ["debian", "download"]:
        fail("CSP_DEPS must be 'debian', 'download' or 'auto', not '%s'" % choice)
    ctx.file("BUILD.bazel", "")
    ctx.file("host.bzl", "DEBIAN = %s\n" % (choice == "debian"))

csp_host = repository_rule(
    implementation = _csp_host_impl,
    environ = ["CSP_DEPS"],
    local = True,
)
