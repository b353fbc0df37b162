#include "kusari/framework/core/profiler.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/array.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/functions/loss/mean_squared_error.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/updaters/standard_updater.h"

namespace kusari {
namespace {

/// The ranges as lines, indented by their depth.
class Lines final : public profiler::RangeSink {
 public:
  Lines() : previous_{profiler::set_range_sink(this)} {}
  ~Lines() override { profiler::set_range_sink(previous_); }
  void push(const char* text) noexcept override { lines.push_back(std::string(2 * depth++, ' ') + text); }
  void pop() noexcept override { --depth; }

  std::vector<std::string> lines;
  size_t depth = 0;

 private:
  profiler::RangeSink* previous_;
};

TEST_CASE("a training iteration is nested ranges with names, dtypes and shapes") {
  const testing::ScratchDirectory out;
  datasets::TupleDataset data(ones({2, 3}), ones({2, 1}));
  iterators::SerialIterator iterator(data, 2, {.shuffle = false});
  links::Linear model(3, 1);
  optimizers::SGD optimizer;
  optimizer.setup(model);
  updaters::StandardUpdaterOptions options;
  options.loss_func = [&](const Variable& x, const Variable& t) { return functions::mean_squared_error(model(x), t); };
  updaters::StandardUpdater updater(iterator, optimizer, options);
  training::Trainer trainer(updater, {1, "iteration"}, out.path());

  Lines ranges;
  trainer.run();
  CHECK(ranges.depth == 0);
  CHECK(ranges.lines == std::vector<std::string>{
                            "iteration 1",
                            "  load",
                            "  convert",
                            "  forward",
                            "    linear forward float32 (2, 3), float32 (1, 3), float32 (1,)",
                            "    mean_squared_error forward float32 (2, 1), float32 (2, 1)",
                            "  backward",
                            "    mean_squared_error backward float32 ()",
                            "      mul_const forward float32 ()",
                            "      sub forward float32 (2, 1), float32 (2, 1)",
                            "      broadcast_to forward float32 ()",
                            "      mul forward float32 (2, 1), float32 (2, 1)",
                            "    linear backward float32 (2, 1)",
                            "  update",
                        });
}

TEST_CASE("a range ends where it began, and when an exception passes") {
  Lines ranges;
  try {
    const profiler::Range outer("outer");
    const profiler::Range inner(std::string("inner"));
    throw 1;
  } catch (int) {
  }
  CHECK(ranges.lines == std::vector<std::string>{"outer", "  inner"});
  CHECK(ranges.depth == 0);
  const profiler::Range kept("kept");
  profiler::RangeSink* const sink = profiler::set_range_sink(nullptr);
  CHECK_FALSE(profiler::is_on());
  { const profiler::Range unheard("unheard"); }
  profiler::set_range_sink(sink);
  CHECK(ranges.lines.size() == 3);
}

}  // namespace
}  // namespace kusari
