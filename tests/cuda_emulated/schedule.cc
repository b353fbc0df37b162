#include "schedule.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <numeric>
#include <string>
#include <string_view>
#include <system_error>

#include "kusari/framework/core/error.h"

namespace kusari::cuda::emulated {

Schedule::Schedule(const char* text) {
  const std::string_view given = text != nullptr ? text : "";
  constexpr std::string_view kRandom = "random:";
  if (given.empty() || given == "forward") return;
  if (given == "reverse") {
    order_ = Order::reverse;
    return;
  }
  const bool is_random = given.starts_with(kRandom);
  const char* const end = given.data() + given.size();
  const auto [after, error] = std::from_chars(given.data() + (is_random ? kRandom.size() : 0), end, seed_);
  if (!is_random || error != std::errc{} || after != end) {
    throw ValueError("KUSARI_EMULATED_SCHEDULE=" + std::string(given) +
                     ": it must be forward, reverse or random:SEED with a number SEED");
  }
  order_ = Order::random;
}

Schedule Schedule::from_environment() { return Schedule(std::getenv("KUSARI_EMULATED_SCHEDULE")); }

void Schedule::begin_grid(uint64_t blocks) {
  blocks_ = blocks;
  if (!is_random()) return;
  numbers_.seed(seed_);
  // Steps that have no divisor in common with the number of blocks reach each of them once.
  first_ = numbers_() % blocks;
  do {
    step_ = numbers_() % blocks + 1;
  } while (std::gcd(step_, blocks) != 1);
}

uint64_t Schedule::block(uint64_t turn) const noexcept {
  if (is_forward()) return turn;
  if (is_reverse()) return blocks_ - 1 - turn;
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>((Wide{turn} * step_ + first_) % blocks_);
}

void Schedule::arrange(std::vector<int>& threads, int count) {
  threads.resize(static_cast<size_t>(count));
  std::iota(threads.begin(), threads.end(), 0);
  if (is_reverse()) std::reverse(threads.begin(), threads.end());
  if (is_random()) std::shuffle(threads.begin(), threads.end(), numbers_);
}

size_t Schedule::pick(size_t count) { return is_random() ? static_cast<size_t>(numbers_() % count) : 0; }

}  // namespace kusari::cuda::emulated
