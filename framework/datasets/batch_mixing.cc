#include "kusari/framework/datasets/batch_mixing.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/datasets/example_random.h"
#include "kusari/framework/distributions/beta.h"
#include "kusari/framework/functions/array/one_hot.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/xp/indexing.h"

namespace kusari::datasets {
namespace {

void check_labels_of_mix(const char* call, const Array& t, int64_t n_classes) {
  for (const int64_t label : t.to_vector<int64_t>()) {
    if (label < 0 || label >= n_classes) {
      throw ValueError(std::string(call) + ": label " + std::to_string(label) + " must be in [0, " +
                       std::to_string(n_classes) + ")");
    }
  }
}

void check_mix(const char* call, const Array& x, const Array& t, const MixOptions& options) {
  if (!x.is_defined() || !t.is_defined()) {
    throw TypeError(std::string(call) + ": " + (x.is_defined() ? "t" : "x") + " is an undefined array");
  }
  if (x.ndim() < 1 || t.shape() != Shape{x.shape()[0]} || !is_integral(t.dtype()) || t.dtype() == Dtype::bool_) {
    throw TypeError(std::string(call) + ": x has shape " + to_string(x.shape()) + " but t has shape " +
                    to_string(t.shape()) + " and dtype " + name(t.dtype()) +
                    ": t must be integers, one for each example of x");
  }
  argument::positive(call, "n_classes", options.n_classes);
  argument::finite_positive(call, "alpha", options.alpha);
  if (t.device().is_cpu() || config().debug) check_labels_of_mix(call, t, options.n_classes);
}

double beta_share(double alpha) {
  const ScopedInputCaster no_caster(nullptr);
  const auto no_graph = no_backprop_mode();
  const Array a = full({}, alpha, Dtype::float64);
  return distributions::Beta(a, a).sample().array().item<double>();
}

Array random_order(int64_t n) { return array(random::permutation(n)); }

/// share * a + (1 - share) * b in a's dtype, computed in float32 at least; overwrites b.
Array mixed_arrays(const Array& a, const Array& b, double share) {
  pointwise_to(b, kernels::MulConst{1 - share}, b);
  const Array factor = full({}, share, a.dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32, a.device());
  return pointwise_as(a.dtype(), kernels::MulAdd{}, a, factor, b);
}

Array one_hot_targets(const Array& t, int64_t n_classes, const Array& x) {
  const auto no_graph = no_backprop_mode();
  const Dtype dtype = x.is_floating() ? x.dtype() : get_dtype();
  return functions::one_hot(Variable(t, false), n_classes, {.dtype = dtype}).array();
}

Array mixed_targets(const Array& targets, const Array& order, double share) {
  return mixed_arrays(targets, xp::take(targets, order, 0), share);
}

bool has_pixel_order(const Array& x) { return x.ndim() == 4 && x.is_channels_last() && !x.is_contiguous(); }

/// (N, H, W, C) of (N, C, H, W), where the memory is so.
Array as_pixels(const Array& x) { return x.transpose({0, 2, 3, 1}); }

void check_components(const Example& example) {
  if (example.size() >= 2) return;
  throw ValueError("mixing_converter: there are " + std::to_string(example.size()) +
                   " components: the first must be an image, the last a label");
}

}  // namespace

MixedBatch mixup(const Array& x, const Array& t, const MixOptions& options) {
  check_mix("mixup", x, t, options);
  if (!x.is_floating()) {
    throw TypeError(std::string("mixup: x has dtype ") + name(x.dtype()) + ": it must be floating");
  }
  const double share = beta_share(options.alpha);
  const Array order = random_order(t.size());
  const Array others =
      has_pixel_order(x) ? xp::take(as_pixels(x), order, 0).transpose({0, 3, 1, 2}) : xp::take(x, order, 0);
  return {mixed_arrays(x, others, share), mixed_targets(one_hot_targets(t, options.n_classes, x), order, share)};
}

MixedBatch cutmix(const Array& x, const Array& t, const MixOptions& options) {
  check_mix("cutmix", x, t, options);
  if (x.ndim() != 4) {
    throw TypeError("cutmix: x has shape " + to_string(x.shape()) + ": it must be (N, C, H, W)");
  }
  struct Side {
    int64_t begin, end;
  };
  const double ratio = std::sqrt(1 - beta_share(options.alpha));
  const Array order = random_order(t.size());
  ExampleRandom numbers(random::bits());
  const auto side = [&](int64_t size) -> Side {
    if (size == 0) return {0, 0};
    const int64_t half = static_cast<int64_t>(static_cast<double>(size) * ratio) / 2, middle = numbers.integer(size);
    return {std::max<int64_t>(middle - half, 0), std::min(middle + half, size)};
  };
  const Side rows = side(x.shape()[2]), columns = side(x.shape()[3]);

  const Array y = x.copy();
  const bool is_pixels = has_pixel_order(y);
  const int axis = is_pixels ? 1 : 2;
  const auto rectangle = [&](const Array& images) {
    return (is_pixels ? as_pixels(images) : images)
        .slice(axis, rows.begin, rows.end - rows.begin)
        .slice(axis + 1, columns.begin, columns.end - columns.begin);
  };
  const int64_t area = (rows.end - rows.begin) * (columns.end - columns.begin);
  Array targets = one_hot_targets(t, options.n_classes, x);
  if (area > 0) {
    rectangle(y).copy_from(xp::take(rectangle(x), order, 0));
    const int64_t whole = x.shape()[2] * x.shape()[3];
    targets = mixed_targets(targets, order, 1 - static_cast<double>(area) / static_cast<double>(whole));
  }
  return {y, targets};
}

Converter mixing_converter(MixingConverterOptions options) {
  constexpr const char* kCall = "mixing_converter";
  argument::positive(kCall, "n_classes", options.n_classes);
  argument::finite_not_negative(kCall, "mixup_alpha", options.mixup_alpha);
  argument::finite_not_negative(kCall, "cutmix_alpha", options.cutmix_alpha);
  argument::require(options.probability >= 0 && options.probability <= 1, kCall, "probability", options.probability,
                    "be in [0, 1]");
  if (options.mixup_alpha == 0 && options.cutmix_alpha == 0) {
    throw ValueError("mixing_converter: mixup_alpha and cutmix_alpha are 0: at least one must be positive");
  }
  if (!options.converter) options.converter = concat_converter();
  const auto shared = std::make_shared<const MixingConverterOptions>(std::move(options));
  return Converter(
      [shared](std::span<const Example> batch, const Device& device) {
        for (const Example& example : batch) {
          check_components(example);
          const Array& label = example.back();
          // Here, because labels on a device would have to be waited for.
          if (label.is_defined() && label.device().is_cpu()) check_labels_of_mix(kCall, label, shared->n_classes);
        }
        return shared->converter.upload(batch, device);
      },
      [shared](Example uploaded) {
        Example result = shared->converter.finish(std::move(uploaded));
        check_components(result);
        const Array x = result.front(), t = result.back();
        ExampleRandom numbers(random::bits());
        const bool is_mixed = numbers.chance(shared->probability);
        const double share_of_cutmix = shared->mixup_alpha == 0 ? 1 : shared->cutmix_alpha == 0 ? 0 : 0.5;
        const bool is_cut = numbers.chance(share_of_cutmix);
        if (!is_mixed) {
          result.back() = one_hot_targets(t, shared->n_classes, x);
          return result;
        }
        MixedBatch mixed = is_cut ? cutmix(x, t, {shared->n_classes, shared->cutmix_alpha})
                                  : mixup(x, t, {shared->n_classes, shared->mixup_alpha});
        result.front() = std::move(mixed.x);
        result.back() = std::move(mixed.t);
        return result;
      });
}

}  // namespace kusari::datasets
