#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kusari/framework/autograd/function_hook.h"
#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/links/link.h"
#include "kusari/tools/kusari-bench/sampling.h"

namespace bench {

/// Notes, in training steps, when the gradient of each parameter is final: from then on it could travel to other
/// processes. On a GPU it waits for the device after each function, which makes the step longer.
class GradientTimes final : public kusari::FunctionHook {
 public:
  GradientTimes(const Settings& settings, kusari::Link& model);

  void begin_step();
  void begin_backward();
  void end_step();
  void backward_postprocess(const kusari::FunctionNode& function, const kusari::Variables& gy,
                            const kusari::Variables& gx) override;

  /// One line of JSON with medians over the steps, in ms: of the parts of a step, and for each parameter with a
  /// gradient its path, elements, bytes, and the time from the beginning of backward; the first that is final comes
  /// first.
  void print(const char* name, int64_t batch) const;

 private:
  struct Entry {
    std::string path;
    int64_t elements, bytes;
    double final_time = -1;     // of the step under way; -1: no gradient has come
    std::vector<double> times;  // since the beginning of backward
  };

  double moment() const;

  Settings settings_;
  kusari::Link& model_;
  std::vector<Entry> entries_;
  std::map<const void*, size_t> places_;  // by vertex
  double begun_ = 0, backward_begun_ = 0, last_ = 0;
  std::vector<double> forward_, backward_, update_;
};

/// When in a step of `optimizer.update(loss)` each gradient is final: after 3 steps to warm up, in as many as the time
/// allows, at least 5.
template <class Optimizer, class Loss>
void report_gradient_times(const Settings& settings, const char* name, int64_t batch, kusari::Link& model,
                           Optimizer& optimizer, const Loss& loss) {
  if (settings.static_graph != "off") throw kusari::ValueError("--gradient-times needs --static-graph off");
  for (int i = 0; i < 3; ++i) optimizer.update(loss);
  GradientTimes times(settings, model);
  const double begin = now();
  for (int i = 0; i < 5 || now() - begin < settings.seconds; ++i) {
    const kusari::ScopedFunctionHook seen(times);
    times.begin_step();
    optimizer.update([&] {
      const kusari::Variable value = loss();
      times.begin_backward();
      return value;
    });
    times.end_step();
  }
  times.print(name, batch);
}

}  // namespace bench
