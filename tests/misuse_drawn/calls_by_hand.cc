#include "calls_by_hand.h"

// What generate_calls.py cannot make up: callables.
namespace kusari::misuse_drawn {

static void call_forget(Draw& draw) {
  const auto x = draw.make<Variable>("x"), y = draw.make<Variable>("y");
  const auto function = draw.make<std::function<Variable(const Variable&)>>("function");
  draw.call([&] { return functions::forget([&](const Variable& a) { return function ? function(a) : a; }, x); });
  draw.call([&] { return functions::forget([](const Variable& a, const Variable& b) { return a * b; }, x, y); });
}

std::vector<Entry> calls_by_hand() { return {{"F::forget(function, xs)", call_forget, false}}; }

}  // namespace kusari::misuse_drawn
