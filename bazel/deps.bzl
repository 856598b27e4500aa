"""csp's dependencies for a WORKSPACE that downloads them (Bazel 4 to 8).

Each is skipped where the WORKSPACE already has one of that name.
"""

load("@bazel_tools//tools/build_defs/repo:http.bzl", "http_archive")

def _alias_repository_impl(ctx):
    ctx.file("WORKSPACE", "")
    ctx.file("BUILD.bazel", "".join([
        "alias(name = \"%s\", actual = \"%s\", visibility = [\"//visibility:public\"])\n" % (name, actual)
        for name, actual in ctx.attr.aliases.items()
    ]))

_alias_repository = repository_rule(
    implementation = _alias_repository_impl,
    attrs = {"aliases": attr.string_dict(mandatory = True)},
)

def _maybe(rule, name, **kwargs):
    if not native.existing_rule(name):
        rule(name = name, **kwargs)  # buildifier: disable=unnamed-macro

def csp_dependencies():
    """Declares each repository that a build of csp itself needs."""
    _maybe(
        http_archive,
        "com_google_absl",
        sha256 = "91ac87d30cc6d79f9ab974c51874a704de9c2647c40f6932597329a282217ba8",
        strip_prefix = "abseil-cpp-20220623.1",
        urls = ["https://github.com/abseil/abseil-cpp/archive/refs/tags/20220623.1.tar.gz"],
    )

    # One archive behind the two names that the Bazel Central Registry gives its Boost modules.
    _maybe(
        http_archive,
        "csp_boost",
        build_file = "@csp//bazel:boost.BUILD.bazel",
        sha256 = "4d27e9efed0f6f152dc28db6430b9d3dfb40c0345da7342eaa5a987dde57bd95",
        strip_prefix = "boost-1.84.0",
        urls = ["https://github.com/boostorg/boost/releases/download/boost-1.84.0/boost-1.84.0.tar.gz"],
    )
    for name in ["asio", "context"]:
        _maybe(
            _alias_repository,
            "boost." + name,
            aliases = {"boost." + name: "@csp_boost//:" + name},
        )

# The system's library: OpenSSL's own archive has no BUILD files.
_OPENSSL = """
cc_library(name = "crypto", linkopts = ["-lcrypto"], visibility = ["//visibility:public"])
cc_library(name = "ssl", linkopts = ["-lssl"], visibility = ["//visibility:public"], deps = [":crypto"])
"""

def _openssl_repository_impl(ctx):
    ctx.file("WORKSPACE", "")
    ctx.file("BUILD.bazel", _OPENSSL)

_openssl_repository = repository_rule(implementation = _openssl_repository_impl)

def csp_dev_dependencies():
    """Declares what only csp's own tests and examples need."""
    _maybe(
        http_archive,
        "com_google_googletest",
        sha256 = "81964fe578e9bd7c94dfdb09c8e4d6e6759e19967e397dbea48d1c10e45d0df2",
        strip_prefix = "googletest-release-1.12.1",
        urls = ["https://github.com/google/googletest/archive/refs/tags/release-1.12.1.tar.gz"],
    )
    _maybe(_openssl_repository, "openssl")
