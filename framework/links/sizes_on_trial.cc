#include "kusari/framework/links/sizes_on_trial.h"

#include <exception>
#include <utility>
#include <vector>

#include "kusari/framework/core/fork_safe.h"

namespace kusari::detail {
namespace {

// Of the one thread that holds a FirstCall.
struct Trial {
  int depth = 0;
  std::vector<Callable<void()>> undos;
};

constinit Lazy<Trial> trial;

}  // namespace

bool SizesOnTrial::is_open() noexcept { return trial->depth > 0; }

void SizesOnTrial::keep(Callable<void()> undo) {
  if (is_open()) trial->undos.push_back(std::move(undo));
}

void SizesOnTrial::begin() {
  alone_.emplace();
  ++trial->depth;
  exceptions_ = std::uncaught_exceptions();
  kept_ = trial->undos.size();
}

void SizesOnTrial::end() noexcept {
  std::vector<Callable<void()>>& undos = trial->undos;
  if (std::uncaught_exceptions() > exceptions_) {
    for (; undos.size() > kept_; undos.pop_back()) undos.back()();
  }
  if (--trial->depth == 0) undos.clear();
}

}  // namespace kusari::detail
