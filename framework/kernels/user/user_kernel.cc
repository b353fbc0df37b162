#include "kusari/framework/kernels/user/user_kernel.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <mutex>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/fork_safe.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/user/layout.h"
#include "kusari/framework/kernels/user/parameters.h"
#include "kusari/framework/kernels/user/source.h"
#include "kusari/framework/kernels/user/user_launch.h"

namespace kusari::cuda {
namespace {

using kernels::UserLaunch;
using kernels::UserSource;
using user::AxisRuns;
using user::Bound;
using user::Parameter;

constexpr unsigned kThreads = 256;
constexpr int64_t kMostBlocks = 1 << 20;  // a block takes further elements beyond

void check_name(const char* what, const std::string& name) {
  const auto is_part = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  if (!name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
      std::all_of(name.begin(), name.end(), is_part))
    return;
  throw ValueError(std::string(what) + ": the name '" + name + "' must be an identifier of C++");
}

/// Whether the text has this word.
bool mentions(const std::string& text, const std::string& word) {
  const auto is_part = [&](size_t at) {
    return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
  };
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    if ((at == 0 || !is_part(at - 1)) && !is_part(at + word.size())) return true;
  }
  return false;
}

unsigned blocks_for(int64_t n, int64_t per_block) {
  return static_cast<unsigned>(std::clamp<int64_t>((n + per_block - 1) / per_block, 1, kMostBlocks));
}

/// The texts of one kernel for the dtypes and layouts that came so far.
class Sources {
 public:
  template <class Write>
  const UserSource& get(const std::string& key, const std::string& name, const UserKernelOptions& options,
                        Write&& write) {
    const std::scoped_lock lock(mutex_);
    const UserSource*& source = sources_[key];
    if (source == nullptr) source = &kernels::intern_user_source(name, write(), options.compiler);
    return *source;
  }

 private:
  ForkSafeMutex mutex_;
  std::map<std::string, const UserSource*> sources_;
};

/// What the arguments of one call are.
struct Arguments {
  const std::string& call;
  std::span<const Parameter> parameters;  // inputs
  std::span<const UserArgument> given;
  user::TypeBindings types;
  std::vector<Array> arrays;  // that have a layout: inputs, broadcast
  Shape shape;
  Device device;

  Arguments(const std::string& name, const std::vector<Parameter>& in, std::span<const UserArgument> inputs,
            std::span<const Parameter> out, std::span<const Array> outputs)
      : call{name}, parameters{in}, given{inputs} {
    if (given.size() != parameters.size()) {
      throw TypeError(call + ": takes " + std::to_string(parameters.size()) + " arguments but " +
                      std::to_string(given.size()) + " came");
    }
    for (size_t k = 0; k < given.size(); ++k) {
      if (given[k].is_array() && !given[k].array().is_defined()) {
        throw TypeError(call + ": " + parameters[k].name + " is an undefined array");
      }
      types.bind(call, parameters[k], given[k]);
      if (parameters[k].is_raw && !given[k].is_array()) {
        throw TypeError(call + ": " + parameters[k].name + " is raw and must be an array");
      }
      if (given[k].is_array()) find_device(parameters[k].name, given[k].array());
    }
    for (size_t k = 0; k < outputs.size(); ++k) {
      types.bind(call, out[k], outputs[k]);
      find_device(out[k].name, outputs[k]);
    }
    types.bind_numbers(in, inputs);
    broadcast(outputs);
  }

  bool is_element(size_t k) const { return given[k].is_array() && !parameters[k].is_raw; }

 private:
  void find_device(const std::string& name, const Array& array) {
    if (!device_known_) device = array.device();
    device_known_ = true;
    if (array.device() == device) return;
    throw DeviceError(call + ": " + name + " is on " + array.device().name() + " but an earlier argument on " +
                      device.name());
  }

  void broadcast(std::span<const Array> outputs) {
    bool sized = !outputs.empty();
    if (sized) shape = outputs[0].shape();
    for (size_t k = 0; k < given.size(); ++k) {
      if (!is_element(k)) continue;
      const Shape& other = given[k].array().shape();
      if (outputs.empty()) {
        shape = sized ? joined(parameters[k].name, other) : other;
      }
      sized = true;
    }
    if (!sized) throw ValueError(call + ": nothing says how many elements there are; give the outputs");
    for (const Array& output : outputs) {
      if (output.shape() == shape) continue;
      throw TypeError(call + ": an output has shape " + to_string(output.shape()) + " but another " + to_string(shape));
    }
    for (size_t k = 0; k < given.size(); ++k) {
      if (is_element(k)) arrays.push_back(given[k].array().broadcast_to(shape));
    }
  }

  Shape joined(const std::string& name, const Shape& other) const {
    Shape result;
    const int ndim = std::max(shape.ndim(), other.ndim());
    for (int axis = 0; axis < ndim; ++axis) {
      const int a = axis - (ndim - shape.ndim()), b = axis - (ndim - other.ndim());
      const int64_t x = a < 0 ? 1 : shape[a], y = b < 0 ? 1 : other[b];
      if (x != y && x != 1 && y != 1) {
        throw TypeError(call + ": " + name + " has shape " + to_string(other) +
                        " which does not broadcast with the others' " + to_string(shape));
      }
      result.push_back(x == 1 ? y : x);
    }
    return result;
  }

  bool device_known_ = false;
};

template <class T>
void add_number(UserLaunch& launch, Scalar value) {
  launch.add(value.as<T>());
}

/// Kernel parameters behind the layout: see source.h. `inputs`: the arrays of the launch, whose numbers the kernel's
/// address parameters are.
void add_parameters(UserLaunch& launch, const Arguments& arguments, std::span<const Bound> bound,
                    std::vector<Array>& inputs, size_t outputs) {
  size_t count = 0;
  for (const UserArgument& argument : arguments.given) count += argument.is_array() ? 1 : 0;
  for (size_t k = 0; k < arguments.given.size(); ++k) {
    const UserArgument& argument = arguments.given[k];
    if (bound[k].is_number) {
      visit_dtype(arguments.types.dtype_of(arguments.call, bound[k].parameter),
                  [&]<class T>() { add_number<T>(launch, argument.scalar()); });
      continue;
    }
    launch.add_array(static_cast<int>(inputs.size()));
    inputs.push_back(argument.array());
    if (!bound[k].parameter.is_raw) continue;
    const Array& array = argument.array();
    const AxisRuns runs = user::axis_runs(array.shape(), std::span(&array, 1), [](int) { return true; });
    int64_t flat[2 * kMaxNdim];
    launch.add_bytes(flat, runs.flatten(flat), alignof(int64_t));
  }
  for (size_t k = 0; k < outputs; ++k) launch.add_array(static_cast<int>(count + k));
}

std::vector<Bound> bind_arguments(const Arguments& arguments, std::span<const Parameter> outputs, std::string* key) {
  std::vector<Bound> bound;
  for (size_t k = 0; k < arguments.given.size(); ++k) {
    const UserArgument& argument = arguments.given[k];
    Bound b{arguments.parameters[k], false, !argument.is_array(), 1};
    if (b.parameter.is_raw) {
      const Array& array = argument.array();
      b.ndim = user::axis_runs(array.shape(), std::span(&array, 1), [](int) { return true; }).ndim;
    }
    *key += b.is_number ? 'n' : static_cast<char>('0' + b.ndim);
    bound.push_back(std::move(b));
  }
  for (const Parameter& output : outputs) bound.push_back({output, true, false, 1});
  for (const Bound& b : bound)
    *key += static_cast<char>('a' + static_cast<int>(arguments.types.dtype_of(arguments.call, b.parameter)));
  return bound;
}

/// Axes from the one along which `first` reaches farthest to the one along which its elements are closest together.
Dims by_stride(const Array& first) {
  Dims order;
  for (int axis = 0; axis < first.ndim(); ++axis) order.push_back(axis);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return std::abs(first.strides()[static_cast<int>(a)]) > std::abs(first.strides()[static_cast<int>(b)]);
  });
  return order;
}

void add_layout(UserLaunch& launch, const AxisRuns& runs) {
  int64_t flat[(1 + AxisRuns::kMaxArrays) * kMaxNdim];
  launch.add_bytes(flat, runs.flatten(flat), alignof(int64_t));
}

std::vector<Parameter> check_outputs(const std::string& call, const std::string& text) {
  std::vector<Parameter> outputs = user::parse_parameters(call, text);
  if (outputs.empty()) throw ValueError(call + ": there is no output");
  for (const Parameter& output : outputs) {
    if (output.is_raw)
      throw ValueError(call + ": output " + output.name + " cannot be raw; give it as an input array of a RawKernel");
  }
  return outputs;
}

void check_names(const std::string& call, const std::vector<Parameter>& in, const std::vector<Parameter>& out) {
  if (in.size() + out.size() > AxisRuns::kMaxArrays) {
    throw ValueError(call + ": takes more than " + std::to_string(AxisRuns::kMaxArrays) + " parameters");
  }
  for (const Parameter& a : in) {
    for (const Parameter& b : out) {
      if (a.name == b.name) throw ValueError(call + ": two parameters are called " + a.name);
    }
  }
}

}  // namespace

struct ElementwiseKernel::Impl {
  std::string call, operation;
  UserKernelOptions options;
  std::vector<Parameter> in, out;
  bool counts;  // the operation asks for i: elements come in C order
  Sources sources;

  void run(const Arguments& arguments, std::span<const Array> outputs) {
    std::vector<Array> arrays = arguments.arrays;
    arrays.insert(arrays.end(), outputs.begin(), outputs.end());
    if (outputs[0].size() == 0) return;
    if (!counts) {
      const Dims order = by_stride(outputs[0]);
      for (Array& array : arrays) array = array.transpose(std::span<const int64_t>(order.begin(), order.size()));
    }
    const AxisRuns runs = user::axis_runs(arrays[0].shape(), arrays, [](int) { return true; });
    bool flat = runs.ndim == 1;
    for (int k = 0; k < runs.arrays; ++k)
      flat = flat && (runs.stride[k][0] == itemsize(arrays[static_cast<size_t>(k)].dtype()) || runs.size[0] == 1);

    std::string key = std::string(flat ? "f" : "s") + static_cast<char>('0' + runs.ndim);
    const std::vector<Bound> bound = bind_arguments(arguments, out, &key);
    UserLaunch launch;
    launch.source = &sources.get(key, call, options, [&] {
      return user::elementwise_source(call, operation, arguments.types.declarations(), options.preamble, bound,
                                      runs.ndim, flat);
    });
    const int64_t n = outputs[0].size();
    launch.grid[0] = blocks_for(n, kThreads);
    launch.block[0] = kThreads;
    add_layout(launch, runs);
    launch.add(n);
    std::vector<Array> inputs;
    add_parameters(launch, arguments, bound, inputs, outputs.size());
    kusari::launch<kernels::UserKernel>(arguments.device, launch, InList(inputs), InOutList(outputs));
  }
};

ElementwiseKernel::ElementwiseKernel(const std::string& in_params, const std::string& out_params,
                                     const std::string& operation, const std::string& name,
                                     const UserKernelOptions& options)
    : impl_{new Impl{name, operation, options, {}, {}, false, {}}} {
  check_name("ElementwiseKernel", name);
  impl_->in = user::parse_parameters(name, in_params);
  impl_->out = check_outputs(name, out_params);
  check_names(name, impl_->in, impl_->out);
  impl_->counts = mentions(operation, "i");
}
ElementwiseKernel::ElementwiseKernel(ElementwiseKernel&&) noexcept = default;
ElementwiseKernel& ElementwiseKernel::operator=(ElementwiseKernel&&) noexcept = default;
ElementwiseKernel::~ElementwiseKernel() = default;

std::vector<Array> ElementwiseKernel::run(std::initializer_list<UserArgument> inputs) const {
  const Arguments arguments(impl_->call, impl_->in, std::span(inputs.begin(), inputs.size()), impl_->out, {});
  std::vector<const Array*> operands;
  for (const Array& array : arguments.arrays) operands.push_back(&array);
  std::vector<Array> outputs;
  for (const Parameter& parameter : impl_->out) {
    const Dtype dtype = arguments.types.dtype_of(impl_->call, parameter);
    outputs.push_back(detail::pointwise_result(impl_->call.c_str(), operands, dtype));
  }
  impl_->run(arguments, outputs);
  return outputs;
}

void ElementwiseKernel::run_to(std::initializer_list<Array> outputs, std::initializer_list<UserArgument> inputs) const {
  if (outputs.size() != impl_->out.size()) {
    throw TypeError(impl_->call + ": has " + std::to_string(impl_->out.size()) + " outputs but " +
                    std::to_string(outputs.size()) + " came");
  }
  const std::span<const Array> arrays(outputs.begin(), outputs.size());
  const Arguments arguments(impl_->call, impl_->in, std::span(inputs.begin(), inputs.size()), impl_->out, arrays);
  impl_->run(arguments, arrays);
}

struct ReductionKernel::Impl {
  std::string call;
  user::ReductionText text;
  UserKernelOptions options;
  std::vector<Parameter> in, out;
  Sources sources;

  std::vector<Array> run(const Arguments& arguments, std::span<const int64_t> axes, bool keepdims) {
    const Shape& shape = arguments.shape;
    const AxisMask mask = axes.empty() ? AxisMask::all(shape.ndim()) : axis_mask(axes, shape.ndim(), call.c_str());
    std::vector<Array> outputs;
    for (const Parameter& parameter : out) {
      outputs.push_back(
          empty(reduced_shape(shape, mask, keepdims), arguments.types.dtype_of(call, parameter), arguments.device));
    }
    const int64_t count = outputs[0].size();
    if (count == 0) return outputs;
    const AxisRuns outer = user::axis_runs(shape, arguments.arrays, [&](int axis) { return !mask.contains(axis); });
    const AxisRuns inner = user::axis_runs(shape, arguments.arrays, [&](int axis) { return mask.contains(axis); });

    std::string key{static_cast<char>('0' + outer.ndim), static_cast<char>('0' + inner.ndim)};
    const std::vector<Bound> bound = bind_arguments(arguments, out, &key);
    UserLaunch launch;
    launch.source = &sources.get(key, call, options, [&] {
      user::ReductionText typed = text;
      if (typed.value_type.empty()) {
        const Dtype dtype = arguments.types.dtype_of(call, out[0]);
        typed.value_type = name(is_half(dtype) ? Dtype::float32 : dtype);
      }
      return user::reduction_source(call, typed, arguments.types.declarations(), options.preamble, bound, outer.ndim,
                                    inner.ndim);
    });
    launch.grid[0] = blocks_for(count, 1);
    launch.block[0] = user::kReductionThreads;
    add_layout(launch, outer);
    add_layout(launch, inner);
    launch.add(count);
    launch.add(numel(shape) / count);
    std::vector<Array> inputs;
    add_parameters(launch, arguments, bound, inputs, outputs.size());
    kusari::launch<kernels::UserKernel>(arguments.device, launch, InList(inputs), InOutList(outputs));
    return outputs;
  }
};

ReductionKernel::ReductionKernel(const std::string& in_params, const std::string& out_params, const std::string& map,
                                 const std::string& reduce, const std::string& post_map, const std::string& identity,
                                 const std::string& name, const std::string& reduce_type,
                                 const UserKernelOptions& options)
    : impl_{new Impl{name, {map, reduce, post_map, identity, reduce_type}, options, {}, {}, {}}} {
  check_name("ReductionKernel", name);
  impl_->in = user::parse_parameters(name, in_params);
  impl_->out = check_outputs(name, out_params);
  check_names(name, impl_->in, impl_->out);
}
ReductionKernel::ReductionKernel(ReductionKernel&&) noexcept = default;
ReductionKernel& ReductionKernel::operator=(ReductionKernel&&) noexcept = default;
ReductionKernel::~ReductionKernel() = default;

std::vector<Array> ReductionKernel::run(std::initializer_list<UserArgument> inputs, std::span<const int64_t> axes,
                                        bool keepdims) const {
  const Arguments arguments(impl_->call, impl_->in, std::span(inputs.begin(), inputs.size()), impl_->out, {});
  return impl_->run(arguments, axes, keepdims);
}

struct RawKernel::Impl {
  const UserSource& source;
};

RawKernel::RawKernel(const std::string& code, const std::string& name, const UserKernelOptions& options) {
  check_name("RawKernel", name);
  const std::string text = "#include \"kusari/framework/kernels/user/prelude.h\"\nnamespace km = kusari::km;\n" +
                           options.preamble + "\n" + code + "\n";
  impl_.reset(new Impl{kernels::intern_user_source(name, text, options.compiler)});
}
RawKernel::RawKernel(RawKernel&&) noexcept = default;
RawKernel& RawKernel::operator=(RawKernel&&) noexcept = default;
RawKernel::~RawKernel() = default;

void RawKernel::operator()(LaunchDims grid, LaunchDims block, std::initializer_list<RawArgument> arguments,
                           size_t shared) const {
  UserLaunch launch;
  launch.source = &impl_->source;
  std::copy_n(std::initializer_list<unsigned>{grid.x, grid.y, grid.z}.begin(), 3, launch.grid);
  std::copy_n(std::initializer_list<unsigned>{block.x, block.y, block.z}.begin(), 3, launch.block);
  launch.shared = static_cast<unsigned>(shared);
  std::vector<Array> arrays;
  for (const RawArgument& argument : arguments) {
    if (!argument.array().is_defined()) {
      if (argument.bytes().empty()) throw TypeError(impl_->source.name + ": an argument is an undefined array");
      launch.add_bytes(argument.bytes().data(), argument.bytes().size(), argument.alignment());
      continue;
    }
    if (!arrays.empty() && !(argument.array().device() == arrays[0].device())) {
      throw DeviceError(impl_->source.name + ": an argument is on " + argument.array().device().name() +
                        " but an earlier one on " + arrays[0].device().name());
    }
    launch.add_array(static_cast<int>(arrays.size()));
    arrays.push_back(argument.array());
  }
  if (arrays.empty()) throw ValueError(impl_->source.name + ": no argument is an array, so there is no device");
  kusari::launch<kernels::UserKernel>(arrays[0].device(), launch, InList(std::span<const Array>()), InOutList(arrays));
}

}  // namespace kusari::cuda
