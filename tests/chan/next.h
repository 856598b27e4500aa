// What a reader of a Broadcast has, without waiting.
#ifndef TESTS_CHAN_NEXT_H_
#define TESTS_CHAN_NEXT_H_

#include <optional>
#include <stdexcept>
#include <utility>

#include "csp/chan/broadcast.h"
#include "gtest/gtest.h"

namespace csp {

// What `reader` has now; the test fails if that is nothing.
template <class T>
Delivery<T> Next(BroadcastReader<T>& reader) {
  std::optional<Delivery<T>> got;
  EXPECT_TRUE(reader.TryRecv(got));
  if (!got) throw std::logic_error("there is no value");
  return *std::move(got);
}

}  // namespace csp

#endif  // TESTS_CHAN_NEXT_H_
