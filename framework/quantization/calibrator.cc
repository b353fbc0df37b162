#include "kusari/framework/quantization/calibrator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <unordered_map>

#include "kusari/framework/autograd/function_hook.h"
#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/kernels/reduce.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/link_walk.h"

namespace kusari::quantization {
namespace {

/// Settings for runs that only look.
struct Inference {
  ScopedSetting<bool> no_graph = no_backprop_mode();
  ScopedSetting<bool> testing = using_config(&Config::train, false);
  ScopedSetting<bool> define_by_run = using_config(&Config::use_static_graph, false);
};

/// Knows in which link of a model this thread is.
class PathHook final : public LinkHook {
 public:
  explicit PathHook(Link& model) {
    kusari::detail::LinkWalk::links(model, "", [&](const std::string& path, Link& link) { paths_[&link] = path; });
  }
  const char* name() const override { return "quantization_paths"; }
  void forward_preprocess(Link& link) override { inside_.push_back(&link); }
  void forward_postprocess(Link&) override { inside_.pop_back(); }
  /// Of the innermost link that the model knows.
  std::string path() const {
    for (size_t i = inside_.size(); i-- > 0;) {
      if (const auto found = paths_.find(inside_[i]); found != paths_.end()) return found->second;
    }
    return "";
  }

 private:
  std::unordered_map<const Link*, std::string> paths_;
  std::vector<const Link*> inside_;
};

bool covers(const std::string& excluded, const QuantizableCall& call) {
  return call.name() == excluded || call.path.starts_with(excluded + "/");
}

double norm(const Array& x) { return std::sqrt(reduce(kernels::SquareSum{}, x.astype(Dtype::float64)).item<double>()); }

}  // namespace

CalibratorBase::CalibratorBase(CalibratorOptions options) : options_{std::move(options)} {}

/// Writes down the calls of the first run, and the numbers that come in every one.
class CalibratorBase::Observer final : public InputCaster {
 public:
  Observer(CalibratorBase& owner, const PathHook& paths)
      : owner_{owner}, paths_{paths}, is_first_{!owner.calls_}, histograms_{owner.histograms_} {
    if (!is_first_) known_.emplace(*owner.calls_, "Calibrator::observe");
  }

  void cast(const FunctionNode& function, Inputs& inputs) override {
    const Operands operands = operands_of(function.name(), inputs);
    if (operands == Operands::none) return;
    const size_t count = operands == Operands::activations ? 2 : 1;
    if (is_first_) {
      calls_.push_back({.function = function.name(),
                        .path = paths_.path(),
                        .number = static_cast<int64_t>(calls_.size()) + 1,
                        .first_range = histograms_.size(),
                        .range_count = count});
      histograms_.resize(histograms_.size() + count);
      owner_.device_ = inputs[0].array().device();
    }
    const QuantizableCall& call = is_first_ ? calls_.back() : known_->next(function.name());
    for (size_t i = 0; i < count; ++i) {
      if (histograms_[call.first_range + i].add(inputs[i].array(), owner_.options_.method)) continue;
      throw ValueError("Calibrator::observe: input " + std::to_string(i) + " of " + call.function + " (" + call.name() +
                       ") has a NaN or an infinity: its range would be none");
    }
  }

  /// What came becomes the calibrator's, all of it or nothing.
  void finish() {
    if (known_) known_->finish();
    if (is_first_) {
      owner_.calls_ = std::move(calls_);
      owner_.apply_exclude();
    }
    owner_.histograms_ = std::move(histograms_);
  }

 private:
  CalibratorBase& owner_;
  const PathHook& paths_;
  const bool is_first_;
  std::vector<QuantizableCall> calls_;
  std::vector<Histogram> histograms_;
  std::optional<CallCounter> known_;
};

void CalibratorBase::observe_call(Link& model, const Callable<void()>& call) {
  const Inference settings;
  PathHook paths(model);
  Observer observer(*this, paths);
  {
    const ScopedLinkHook hooked(paths);
    const ScopedInputCaster scope(&observer);
    call();
  }
  observer.finish();
}

void CalibratorBase::apply_exclude() {
  std::string known;
  for (const QuantizableCall& call : *calls_) known += (known.empty() ? "" : ", ") + call.name();
  for (const std::string& excluded : options_.exclude) {
    bool is_known = false;
    for (QuantizableCall& call : *calls_) {
      if (!covers(excluded, call)) continue;
      call.is_quantized = false;
      is_known = true;
    }
    if (is_known) continue;
    calls_.reset();
    throw ValueError(
        "Calibrator: exclude has \"" + excluded +
        "\", where the model calls nothing that can be quantized; it does in: " + (known.empty() ? "nothing" : known));
  }
}

Calibration CalibratorBase::calibration(const char* method) const {
  if (!calls_) {
    throw StateError(std::string("Calibrator::") + method +
                     ": nothing was observed: call observe(x) with some batches");
  }
  Calibration result;
  for (const QuantizableCall& call : *calls_) {
    QuantizableCall made = call;
    made.first_range = made.range_count = 0;
    if (call.is_quantized) {
      made.first_range = result.ranges.size();
      made.range_count = call.range_count;
      for (size_t i = 0; i < call.range_count; ++i) {
        const ValueRange range = histograms_[call.first_range + i].range(options_.method);
        result.ranges.emplace_back(range, range.low < 0 && !options_.zero_points, device_);
      }
    }
    result.calls.push_back(std::move(made));
  }
  return result;
}

/// Runs that quantize one call, or none, and see its result, or all.
class CalibratorBase::Probe final : public InputCaster, public FunctionHook {
 public:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  Probe(const Calibration& calibration, size_t quantized)
      : calibration_{calibration}, quantized_{quantized}, counter_{calibration.calls, "Calibrator::errors"} {}

  void cast(const FunctionNode& function, Inputs& inputs) override {
    const Operands operands = operands_of(function.name(), inputs);
    if (operands == Operands::none) return;
    place_ = counter_.count();
    const QuantizableCall& call = counter_.next(function.name());
    const bool is_product = operands == Operands::activations;
    if (place_ == quantized_) {
      const std::array made = {
          calibration_.ranges[call.first_range](inputs[0]),
          is_product ? calibration_.ranges[call.first_range + 1](inputs[1]) : quantized_weight(inputs[1])};
      inputs.replace(0, made[0]);
      inputs.replace(1, made[1]);
    }
    awaited_ = &function;
  }

  void forward_postprocess(const FunctionNode& function, const ArrayRefs&, const Arrays& out) override {
    if (&function != awaited_) return;
    awaited_ = nullptr;
    const bool is_wanted = quantized_ == kNone ? calibration_.calls[place_].is_quantized : place_ == quantized_;
    results.push_back(is_wanted ? out[0] : Array());
  }

  void finish() const { counter_.finish(); }

  std::vector<Array> results;  // by the place of the call; undefined where nobody wants it

 private:
  const Calibration& calibration_;
  const size_t quantized_;
  CallCounter counter_;
  size_t place_ = 0;
  const FunctionNode* awaited_ = nullptr;
};

std::vector<LayerError> CalibratorBase::find_errors(const Callable<void()>& call) const {
  const Calibration found = calibration("errors");
  const Inference settings;
  const auto run = [&](size_t quantized) {
    Probe probe(found, quantized);
    const ScopedFunctionHook hooked(probe);
    const ScopedInputCaster scope(&probe);
    call();
    probe.finish();
    return std::move(probe.results);
  };
  const std::vector<Array> exact = run(Probe::kNone);
  std::vector<LayerError> errors;
  for (size_t i = 0; i < found.calls.size(); ++i) {
    if (!found.calls[i].is_quantized) continue;
    const Array y = exact[i], rounded = run(i)[i];
    const double size = norm(y), off = norm(rounded.astype(Dtype::float64) - y.astype(Dtype::float64));
    const QuantizableCall& one = found.calls[i];
    errors.push_back({one.name(), one.function, one.number, off == 0 ? 0 : off / size});
  }
  const auto badness = [](const LayerError& layer) { return std::isnan(layer.error) ? HUGE_VAL : layer.error; };
  std::ranges::stable_sort(errors, std::ranges::greater(), badness);
  return errors;
}

}  // namespace kusari::quantization
