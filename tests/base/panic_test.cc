#include "csp/base/panic.h"

#include <exception>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "gtest/gtest.h"

namespace csp {
namespace {

template <class E>
class PanicTest : public ::testing::Test {};

using Panics = ::testing::Types<Panic, ClosedChannel, NilChannel, NoLiveCase, InvalidArgument,
                                JoinError, TaskCancelled, NoStack, RuntimeError>;
TYPED_TEST_SUITE(PanicTest, Panics);

TYPED_TEST(PanicTest, CarriesItsMessage) {
  try {
    throw TypeParam("Chan::Send: the channel is closed");
  } catch (const std::exception& e) {
    EXPECT_STREQ(e.what(), "Chan::Send: the channel is closed");
  }
}

TYPED_TEST(PanicTest, IsCaughtByItsBases) {
  EXPECT_THROW(throw TypeParam("x"), TypeParam);
  EXPECT_THROW(throw TypeParam("x"), Panic);
  EXPECT_THROW(throw TypeParam("x"), std::runtime_error);
}

TYPED_TEST(PanicTest, CanBeKeptAndThrownAgain) {
  std::exception_ptr kept;
  try {
    throw TypeParam(std::string("kept"));
  } catch (...) {
    kept = std::current_exception();
  }
  try {
    std::rethrow_exception(kept);
  } catch (const TypeParam& e) {
    EXPECT_STREQ(e.what(), "kept");
  }
}

// Each is a word of its own: nobody catches one by the name of another.
TEST(PanicTypesTest, NoneIsAnother) {
  EXPECT_FALSE((std::is_base_of_v<ClosedChannel, NilChannel>));
  EXPECT_FALSE((std::is_base_of_v<JoinError, TaskCancelled>));
  EXPECT_FALSE((std::is_base_of_v<Cancelled, TaskCancelled>));
}

// It is no error: code that catches errors must let it pass.
TEST(CancelledTest, IsNoStdException) {
  EXPECT_FALSE((std::is_base_of_v<std::exception, Cancelled>));
  bool swallowed = false;
  bool passed = false;
  try {
    try {
      throw Cancelled();
    } catch (const std::exception&) {
      swallowed = true;
    }
  } catch (const Cancelled&) {
    passed = true;
  }
  EXPECT_FALSE(swallowed);
  EXPECT_TRUE(passed);
}

}  // namespace
}  // namespace csp
