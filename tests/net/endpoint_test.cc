#include "csp/net/endpoint.h"

#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

namespace csp::net {
namespace {

std::string Reason(std::string_view text) {
  return std::string(Endpoint::Parse(text).status().message());
}

TEST(EndpointTest, WhatIsParsedIsPrintedAgain) {
  for (const char* text : {"127.0.0.1:80", "0.0.0.0:0", "255.255.255.255:65535", "[::1]:8080",
                           "[::]:0", "[2001:db8::1]:443", "[fe80::1%lo]:22"}) {
    const absl::StatusOr<Endpoint> endpoint = Endpoint::Parse(text);
    ASSERT_TRUE(endpoint.ok()) << endpoint.status();
    EXPECT_EQ(endpoint->ToString(), text);
    EXPECT_EQ(*endpoint, *Endpoint::From(endpoint->data(), endpoint->size()));
  }
  EXPECT_EQ(Endpoint::Parse("[0:0:0:0:0:0:0:1]:80")->ToString(), "[::1]:80");
  EXPECT_EQ(Endpoint::Parse("[::ffff:192.0.2.1]:80")->ToString(), "[::ffff:192.0.2.1]:80");
}

TEST(EndpointTest, WhatIsWrongIsSaid) {
  EXPECT_EQ(Reason("127.0.0.1"), "address \"127.0.0.1\": has no port; write \"host:port\"");
  EXPECT_EQ(Reason("::1:80"),
            "address \"::1:80\": too many colons; an IPv6 address stands in brackets, as in "
            "\"[::1]:80\"");
  EXPECT_EQ(Reason("[::1:80"), "address \"[::1:80\": '[' without ']' before the port");
  EXPECT_EQ(Reason("[127.0.0.1]:80"),
            "address \"[127.0.0.1]:80\": brackets are for IPv6 addresses");
  EXPECT_EQ(Reason("127.0.0.1:"), "address \"127.0.0.1:\": the port is no number from 0 to 65535");
  EXPECT_EQ(Reason("example.org:80"),
            "address \"example.org\": is neither an IPv4 nor an IPv6 address");
  EXPECT_EQ(Reason("[fe80::1%nothere]:80"),
            "address \"fe80::1%nothere\": there is no such interface");
}

TEST(EndpointTest, NothingIsGuessed) {
  for (const std::string_view text : {"",
                                      ":",
                                      ":80",
                                      "127.0.0.1:65536",
                                      "127.0.0.1:-1",
                                      "127.0.0.1:+80",
                                      "127.0.0.1:080",
                                      "127.0.0.1:80 ",
                                      " 127.0.0.1:80",
                                      "127.0.0.1: 80",
                                      "127.1:80",
                                      "0x7f.0.0.1:80",
                                      "127.0.0.01:80",
                                      "256.0.0.1:80",
                                      "1.2.3:80",
                                      "1.2.3.4.5:80",
                                      "127.0.0.1:http",
                                      "127.0.0.1:99999999999999999999",
                                      "[::1]",
                                      "[]:80",
                                      "[::1]]:80",
                                      "[::g]:80",
                                      "[1::2::3]:80",
                                      "[::1%]:80",
                                      "[::1%0]:80",
                                      "a:b:c",
                                      "127.0.0.1\n:80"}) {
    EXPECT_EQ(Endpoint::Parse(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_FALSE(Endpoint::Parse(std::string_view("127.0.0.1\0:80", 13)).ok());
  EXPECT_FALSE(Endpoint::Parse(std::string_view("127.0.0.1\0", 10), 80).ok());
}

TEST(EndpointTest, PartsAndProperties) {
  Endpoint endpoint = *Endpoint::Parse("127.8.0.1", 80);
  EXPECT_TRUE(endpoint.is_loopback());
  EXPECT_FALSE(endpoint.is_v6());
  EXPECT_EQ(endpoint.ip(), "127.8.0.1");
  endpoint.set_port(81);
  EXPECT_EQ(endpoint.port(), 81);
  EXPECT_FALSE(endpoint == *Endpoint::Parse("127.8.0.1", 80));
  endpoint = *Endpoint::Parse("::1", 80);
  EXPECT_TRUE(endpoint.is_loopback());
  EXPECT_TRUE(endpoint.is_v6());
  EXPECT_EQ(endpoint.ip(), "::1");
  EXPECT_EQ(Endpoint().ToString(), "0.0.0.0:0");
  const sockaddr other{AF_UNIX, {}};
  EXPECT_FALSE(Endpoint::From(&other, sizeof other).ok());
}

TEST(EndpointTest, HostAndPortApart) {
  EXPECT_EQ(SplitHostPort("example.org:80")->host, "example.org");
  EXPECT_EQ(SplitHostPort("example.org:80")->port, 80);
  EXPECT_EQ(SplitHostPort(":0")->host, "");
  EXPECT_EQ(SplitHostPort("[::1]:1")->host, "::1");
  EXPECT_FALSE(SplitHostPort("exa mple:80").ok());
  EXPECT_FALSE(SplitHostPort("a]:80").ok());
}

}  // namespace
}  // namespace csp::net
