#include "kusari/framework/cpu/convolution.h"
#include "kusari/framework/cpu/onednn.h"

#if defined(KUSARI_WITH_ONEDNN)

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/fork_safe.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/packed_weights.h"
#include "kusari/framework/cpu/scratch.h"

namespace kusari::cpu {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

memory::dims sizes_of(const memory::desc& description) {
#if DNNL_VERSION_MAJOR >= 3
  return description.get_dims();
#else
  return description.dims();
#endif
}

struct Argument {
  int id;
  const memory::desc* description;
  void* data;
};

void execute(const dnnl::primitive& primitive, std::initializer_list<Argument> arguments) {
  constexpr size_t kMost = 6;
  memory held[kMost];
  dnnl_exec_arg_t passed[kMost];
  int count = 0;
  for (const Argument& argument : arguments) {
    if (argument.data == nullptr) continue;
    held[count] = memory(*argument.description, onednn_engine(), argument.data);
    passed[count] = {argument.id, held[count].get()};
    ++count;
  }
  const dnnl_status_t status = dnnl_primitive_execute(primitive.get(), onednn_stream().get(), count, passed);
  if (status != dnnl_success) throw Error("convolution: oneDNN failed with status " + std::to_string(status));
}

dnnl::reorder make_reorder(const memory::desc& from, const memory::desc& to) {
  expect_room_for_kernels();
  return dnnl::reorder(dnnl::reorder::primitive_desc(onednn_engine(), from, onednn_engine(), to));
}

// A change of order, cut along one axis so that threads can share it.
class Reorder {
 public:
  // The pieces are multiples of `step` long and about `pieces` many.
  Reorder(const memory::desc& from, const memory::desc& to, int axis, int64_t step, int64_t pieces)
      : from_{from}, to_{to} {
    const memory::dims dims = sizes_of(from);
    const int64_t whole = dims[static_cast<size_t>(axis)];
    const int64_t piece = std::max<int64_t>(step, (whole / std::max<int64_t>(pieces, 1) + step - 1) / step * step);
    for (int64_t begin = 0; begin < whole; begin += piece) {
      memory::dims offset(dims.size(), 0), size = dims;
      offset[static_cast<size_t>(axis)] = begin;
      size[static_cast<size_t>(axis)] = std::min(piece, whole - begin);
      Piece made{from_.submemory_desc(size, offset), to_.submemory_desc(size, offset), {}};
      made.primitive = make_reorder(made.from, made.to);
      pieces_.push_back(std::move(made));
    }
  }

  // On all threads.
  void operator()(void* from, void* to) const {
    parallel_for(static_cast<int64_t>(pieces_.size()), 1, [&](int64_t begin, int64_t end) {
      const OneDnnSingleThread single_thread;
      for (int64_t i = begin; i < end; ++i) {
        const Piece& piece = pieces_[static_cast<size_t>(i)];
        execute(piece.primitive, {{DNNL_ARG_FROM, &piece.from, from}, {DNNL_ARG_TO, &piece.to, to}});
      }
    });
  }

 private:
  struct Piece {
    memory::desc from, to;
    dnnl::reorder primitive;
  };
  memory::desc from_, to_;
  std::vector<Piece> pieces_;
};

memory::dims dims_of(int64_t first, int64_t second, const int64_t* rest, int64_t n) {
  memory::dims dims = {first, second};
  dims.insert(dims.end(), rest, rest + n);
  return dims;
}

Tag channels_last_tag(int64_t ndim) { return ndim == 1 ? Tag::nwc : ndim == 2 ? Tag::nhwc : Tag::ndhwc; }

// The parameter's order: output channel, kernel, input channel.
memory::desc weights_desc(const ConvolutionProblem& p, memory::data_type type) {
  const int64_t ins = p.in_channels / p.groups, outs = p.out_channels / p.groups, taps = p.kernel_size();
  memory::dims dims, strides;
  if (p.groups > 1) {
    dims.push_back(p.groups);
    strides.push_back(outs * taps * ins);
  }
  dims.insert(dims.end(), {outs, ins});
  strides.insert(strides.end(), {taps * ins, 1});
  int64_t step = taps * ins;
  for (int64_t i = 0; i < p.ndim; ++i) {
    step /= p.kernel[i];
    dims.push_back(p.kernel[i]);
    strides.push_back(step);
  }
  return memory::desc(dims, type, strides);
}

// What runs on one thread: some images, or some rows of one, of the whole.
struct Part {
  int64_t image, images;
  int64_t first_row, rows;  // of y
};

struct Divided {
  ConvolutionProblem problem;  // of the part
  int64_t x_skip, y_skip;      // elements before the part
};

constexpr double kPartFlops = 4e6;  // worth a thread of its own: about 20 microseconds
constexpr int64_t kMostParts = 8;
// Each part of the forward pass reads all weights: parts of some 30 positions would wait for them.
constexpr int64_t kFewPositions = 256, kMostPartsOfFewPositions = 4;
constexpr double kSumsPerPosition = 1e-3;  // see parts_of

Divided divide(const ConvolutionProblem& p, const Part& part) {
  Divided d{p, 0, 0};
  d.problem.batch = part.images;
  const int64_t x_row = p.in_size() / p.in[0] * p.in_channels, y_row = p.out_size() / p.out[0] * p.out_channels;
  d.x_skip = part.image * p.in[0] * x_row;
  d.y_skip = (part.image * p.out[0] + part.first_row) * y_row;
  if (part.rows < p.out[0]) {  // the rows of x that these rows of y are computed from
    const int64_t reach = (p.kernel[0] - 1) * p.dilate[0] + 1;
    const int64_t begin = part.first_row * p.stride[0] - p.pad[0];
    const int64_t end = begin + (part.rows - 1) * p.stride[0] + reach;
    const int64_t first = std::max<int64_t>(begin, 0), last = std::min(end, p.in[0]);
    d.problem.out[0] = part.rows;
    d.problem.pad[0] = first - begin;
    d.problem.in[0] = last - first;
    d.x_skip += first * x_row;
  }
  return d;
}

// How finely a convolution is divided.
enum class Division { rows, images, none };

// The division depends on the sizes alone, so that results do not depend on the number of threads.
std::vector<Part> parts_of(const ConvolutionProblem& p, Division division) {
  const bool has_few_positions = p.pass == ConvolutionPass::forward && p.batch * p.out_size() <= kFewPositions;
  const int64_t most = has_few_positions ? kMostPartsOfFewPositions : kMostParts;
  const auto wanted = static_cast<int64_t>(std::clamp(p.flops() / kPartFlops, 1.0, static_cast<double>(most)));
  std::vector<Part> parts;
  if (division == Division::none) return {{0, p.batch, 0, p.out[0]}};
  if (p.pass == ConvolutionPass::filter_grad) {
    // Each part has its own sums, to be added up; more parts than this would cost more than they bring.
    const double worthwhile = static_cast<double>(p.batch * p.out_size()) * kSumsPerPosition;
    const int64_t n = std::clamp<int64_t>(static_cast<int64_t>(worthwhile), 1, std::min(p.batch, wanted));
    for (int64_t i = 0; i < n; ++i) {
      const int64_t begin = p.batch * i / n, end = p.batch * (i + 1) / n;
      parts.push_back({begin, end - begin, 0, p.out[0]});
    }
    return parts;
  }
  const int64_t images = ceil_divide(p.batch, wanted);
  const bool by_rows = division == Division::rows && p.pass == ConvolutionPass::forward && images == 1;
  const int64_t bands = by_rows ? std::min(p.out[0], ceil_divide(wanted, p.batch)) : 1;
  for (int64_t image = 0; image < p.batch; image += images) {
    const int64_t count = std::min(images, p.batch - image);
    for (int64_t i = 0; i < bands; ++i) {
      const int64_t begin = p.out[0] * i / bands, end = p.out[0] * (i + 1) / bands;
      parts.push_back({image, count, begin, end - begin});
    }
  }
  return parts;
}

// The algorithms' common descriptors of a part. In blocked order oneDNN chooses all three.
struct Descriptors {
  memory::desc x, w, bias, y;

  Descriptors(const ConvolutionProblem& p, bool is_blocked, const memory::desc& weights) {
    const memory::data_type type = onednn_type(p.element());
    const Tag tag = is_blocked ? Tag::any : channels_last_tag(p.ndim);
    x = memory::desc(dims_of(p.batch, p.in_channels, p.in, p.ndim), type, tag);
    y = memory::desc(dims_of(p.batch, p.out_channels, p.out, p.ndim), type, tag);
    w = weights;
    if (p.has_inner_bias()) bias = memory::desc({p.out_channels}, memory::data_type::f32, Tag::x);
  }
};

// The order of weights that oneDNN is free to choose. Sums of half types are kept in float32.
memory::desc any_weights(const ConvolutionProblem& p) {
  const bool is_result = p.pass == ConvolutionPass::filter_grad;
  const memory::data_type type = is_result ? memory::data_type::f32 : onednn_type(p.element());
  return memory::desc(sizes_of(weights_desc(p, type)), type, Tag::any);
}

struct Geometry {
  memory::dims stride, dilate, before, after;

  explicit Geometry(const ConvolutionProblem& p) {
    for (int i = 0; i < p.ndim; ++i) {
      // With a single position no stride is taken; oneDNN 3.7 then errs with one channel and strides other than 1.
      stride.push_back(p.out[i] == 1 ? 1 : p.stride[i]);
      dilate.push_back(p.dilate[i] - 1);
      before.push_back(p.pad[i]);
      after.push_back(p.pad_after(i));
    }
  }
};

// One primitive and the descriptors that it settled on.
struct Primitive {
  dnnl::primitive primitive;
  memory::desc x, w, y, bias;
  size_t scratch_bytes = 0;
  bool is_reference = false;  // oneDNN's fallback, a hundred times slower than its others

  Primitive(const ConvolutionProblem& p, const Descriptors& d) : bias{d.bias} {
    expect_room_for_kernels();
    make(p, d);
  }

 private:
  void make(const ConvolutionProblem& p, const Descriptors& d) {
    const Geometry g(p);
    const auto direct = dnnl::algorithm::convolution_direct;
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    // The forward convolution that a gradient belongs to has weights of the type of x.
    const memory::desc forward_weights(sizes_of(d.w), onednn_type(p.element()), Tag::any);
#if DNNL_VERSION_MAJOR >= 3
    using Forward = dnnl::convolution_forward::primitive_desc;
    const auto training = dnnl::prop_kind::forward_training;
    if (p.pass == ConvolutionPass::forward) {
      const Forward made = p.has_inner_bias() ? Forward(onednn_engine(), training, direct, d.x, d.w, d.bias, d.y,
                                                        g.stride, g.dilate, g.before, g.after, attributes)
                                              : Forward(onednn_engine(), training, direct, d.x, d.w, d.y, g.stride,
                                                        g.dilate, g.before, g.after, attributes);
      return take(dnnl::convolution_forward(made), made.src_desc(), made.weights_desc(), made.dst_desc(), made);
    }
    const Forward hint(onednn_engine(), training, direct, d.x, forward_weights, d.y, g.stride, g.dilate, g.before,
                       g.after);
    if (p.pass == ConvolutionPass::data_grad) {
      const dnnl::convolution_backward_data::primitive_desc made(onednn_engine(), direct, d.x, d.w, d.y, g.stride,
                                                                 g.dilate, g.before, g.after, hint, attributes);
      return take(dnnl::convolution_backward_data(made), made.diff_src_desc(), made.weights_desc(),
                  made.diff_dst_desc(), made);
    }
    const dnnl::convolution_backward_weights::primitive_desc made(onednn_engine(), direct, d.x, d.w, d.y, g.stride,
                                                                  g.dilate, g.before, g.after, hint, attributes);
    take(dnnl::convolution_backward_weights(made), made.src_desc(), made.diff_weights_desc(), made.diff_dst_desc(),
         made);
#else
    using Forward = dnnl::convolution_forward;
    const auto training = dnnl::prop_kind::forward_training;
    if (p.pass == ConvolutionPass::forward) {
      const Forward::desc operation =
          p.has_inner_bias()
              ? Forward::desc(training, direct, d.x, d.w, d.bias, d.y, g.stride, g.dilate, g.before, g.after)
              : Forward::desc(training, direct, d.x, d.w, d.y, g.stride, g.dilate, g.before, g.after);
      const Forward::primitive_desc made(operation, attributes, onednn_engine());
      return take(Forward(made), made.src_desc(), made.weights_desc(), made.dst_desc(), made);
    }
    const Forward::primitive_desc hint(
        Forward::desc(training, direct, d.x, forward_weights, d.y, g.stride, g.dilate, g.before, g.after),
        onednn_engine());
    if (p.pass == ConvolutionPass::data_grad) {
      using Backward = dnnl::convolution_backward_data;
      const Backward::primitive_desc made(Backward::desc(direct, d.x, d.w, d.y, g.stride, g.dilate, g.before, g.after),
                                          attributes, onednn_engine(), hint);
      return take(Backward(made), made.diff_src_desc(), made.weights_desc(), made.diff_dst_desc(), made);
    }
    using Backward = dnnl::convolution_backward_weights;
    const Backward::primitive_desc made(Backward::desc(direct, d.x, d.w, d.y, g.stride, g.dilate, g.before, g.after),
                                        attributes, onednn_engine(), hint);
    take(Backward(made), made.src_desc(), made.diff_weights_desc(), made.diff_dst_desc(), made);
#endif
  }

  template <class Description>
  void take(dnnl::primitive made, const memory::desc& x_desc, const memory::desc& w_desc, const memory::desc& y_desc,
            const Description& description) {
    primitive = std::move(made);
    x = x_desc;
    w = w_desc;
    y = y_desc;
    scratch_bytes = description.scratchpad_desc().get_size();
    is_reference = std::string(description.impl_info_str()).find("ref") != std::string::npos;
  }
};

// How many taps of the kernel lie on x, along one axis, at the position where most do.
int64_t most_taps(const ConvolutionProblem& p, int axis) {
  int64_t most = 0;
  for (int64_t position = 0; position < p.out[axis]; ++position) {
    int64_t taps = 0;
    for (int64_t tap = 0; tap < p.kernel[axis]; ++tap) {
      const int64_t i = position * p.stride[axis] - p.pad[axis] + tap * p.dilate[axis];
      if (i >= 0 && i < p.in[axis]) ++taps;
    }
    most = std::max(most, taps);
  }
  return most;
}

// Whether some element of the kernel nowhere lies on x.
bool has_idle_taps(const ConvolutionProblem& p) {
  for (int i = 0; i < p.ndim; ++i) {
    for (int64_t tap = 0; tap < p.kernel[i]; ++tap) {
      bool is_idle = true;
      for (int64_t y = 0; is_idle && y < p.out[i]; ++y) {
        const int64_t x = y * p.stride[i] - p.pad[i] + tap * p.dilate[i];
        is_idle = x < 0 || x >= p.in[i];
      }
      if (is_idle) return true;
    }
  }
  return false;
}

// oneDNN reads and writes beyond the arrays in two cases: 3.7 where all is padding; 2.6 and 3.7 in filter gradients of
// three dimensions, where kernels deeper than 3 nowhere lie wholly on x. In bfloat16 2.6 leaves gradients of elements
// of the kernel unwritten that nowhere lie on x, and its 1x1 data gradients from an odd number of channels are wrong.
bool is_safe(const ConvolutionProblem& p) {
  for (int i = 0; i < p.ndim; ++i) {
    if (most_taps(p, i) == 0) return false;
  }
  if (p.element() == Dtype::bfloat16) {
    if (p.pass == ConvolutionPass::filter_grad && has_idle_taps(p)) return false;
    const bool is_odd = p.out_channels / p.groups % 2 != 0;
    if (p.pass == ConvolutionPass::data_grad && p.kernel_size() == 1 && is_odd) return false;
  }
  const bool is_deep = p.pass == ConvolutionPass::filter_grad && p.ndim == 3 && p.kernel[0] > 3;
  return !is_deep || most_taps(p, 0) == p.kernel[0];
}

// A convolution ready to run: a primitive for each part, and the changes of order around them.
class Prepared {
 public:
  Prepared(const ConvolutionProblem& p, OneDnnOrder order) : p_{p}, is_blocked_{order == OneDnnOrder::blocked} {
    const OneDnnSingleThread single_thread;
    // Parts of unequal sizes may want different orders of the weights, but all get that of the first.
    for (const Division division : {Division::rows, Division::images, Division::none}) {
      if (!divide_into(parts_of(p, division))) continue;
      choose_reorder();
      return;
    }
    parts_.clear();
  }

  bool is_usable() const { return !parts_.empty(); }

  size_t workspace() const {
    size_t part_bytes = 0;
    for (const PartPlan& plan : parts_) {
      part_bytes += plan.primitive->scratch_bytes;
      if (is_blocked_) part_bytes += plan.primitive->x.get_size() + plan.primitive->y.get_size();
    }
    return part_bytes + weights_.get_size() * (p_.pass == ConvolutionPass::filter_grad ? parts_.size() : 1);
  }

  void operator()(const ConvolutionArrays& a) const {
    if (p_.pass == ConvolutionPass::filter_grad) return filter_gradient(a);
    const auto pack = [&](void* to) { (*reorder_)(a.w.data(), to); };
    if (reorder_ == nullptr) return run_parts(a, a.w.data());
    const PackedWeights packed(a.kept_weights, this, "", weights_.get_size(), pack);
    run_parts(a, const_cast<void*>(packed.get()));
  }

 private:
  struct PartPlan {
    int64_t x_skip, y_skip;
    std::shared_ptr<const Primitive> primitive;
    memory::desc x, y;                 // as the caller has them
    dnnl::primitive x_order, y_order;  // from or to the primitive's order, where that is another
  };

  // False where oneDNN has nothing good for one of the parts.
  bool divide_into(const std::vector<Part>& parts) {
    parts_.clear();
    divided_.clear();
    weights_ = any_weights(p_);
    for (const Part& part : parts) {
      const Divided d = divide(p_, part);
      PartPlan plan{d.x_skip, d.y_skip, nullptr, {}, {}, {}, {}};
      for (size_t i = 0; i < parts_.size(); ++i) {  // equal parts share a primitive
        if (divided_[i] == d.problem) plan = parts_[i];
      }
      plan.x_skip = d.x_skip;
      plan.y_skip = d.y_skip;
      if (!plan.primitive && !prepare(d.problem, weights_, plan)) return false;
      weights_ = plan.primitive->w;
      divided_.push_back(d.problem);
      parts_.push_back(std::move(plan));
    }
    return true;
  }

  void choose_reorder() {
    const memory::desc given = weights_desc(p_, onednn_type(p_.w_element()));
    if (weights_ == given) return;
    // Whole blocks of output channels; with groups the first axis is theirs.
    const int64_t step = p_.groups > 1 ? 16 : 64, pieces = 8;
    const bool is_result = p_.pass == ConvolutionPass::filter_grad;
    const memory::desc &from = is_result ? weights_ : given, &to = is_result ? given : weights_;
    try {
      reorder_ = std::make_unique<Reorder>(from, to, 0, step, pieces);
    } catch (const dnnl::error&) {  // an order that cannot be cut
      reorder_ = std::make_unique<Reorder>(from, to, 0, p_.out_channels, 1);
    }
  }

  bool prepare(const ConvolutionProblem& p, const memory::desc& weights, PartPlan& plan) const {
    if (!is_safe(p)) return false;
    try {
      plan.primitive = std::make_shared<const Primitive>(p, Descriptors(p, is_blocked_, weights));
    } catch (const dnnl::error& error) {
      if (error.status == dnnl_unimplemented || error.status == dnnl_invalid_arguments) return false;
      const std::string what = std::string("convolution: oneDNN: ") + error.what();
      if (error.status == dnnl_out_of_memory) throw OutOfMemoryError(what);
      throw Error(what);
    }
    if (plan.primitive->is_reference) return false;
    const Descriptors given(p, false, weights);
    plan.x = given.x;
    plan.y = given.y;
    const Primitive& made = *plan.primitive;
    const auto order = [](bool is_result, const memory::desc& outer, const memory::desc& inner) {
      if (outer == inner) return dnnl::primitive();
      return static_cast<dnnl::primitive>(is_result ? make_reorder(inner, outer) : make_reorder(outer, inner));
    };
    plan.x_order = order(p.pass == ConvolutionPass::data_grad, plan.x, made.x);
    plan.y_order = order(p.pass == ConvolutionPass::forward, plan.y, made.y);
    return true;
  }

  // w: in the primitives' order; for the filter gradient, the sums of part i are i * part_bytes behind.
  void run_parts(const ConvolutionArrays& a, void* w, size_t part_bytes = 0) const {
    parallel_for(static_cast<int64_t>(parts_.size()), 1, [&](int64_t begin, int64_t end) {
      const OneDnnSingleThread single_thread;
      for (int64_t i = begin; i < end; ++i) {
        run_part(parts_[static_cast<size_t>(i)], a, static_cast<char*>(w) + static_cast<size_t>(i) * part_bytes);
      }
    });
  }

  void run_part(const PartPlan& plan, const ConvolutionArrays& a, void* w) const {
    const Primitive& made = *plan.primitive;
    const int64_t size = itemsize(p_.element());
    void* const x = static_cast<char*>(a.x) + plan.x_skip * size;
    void* const y = static_cast<char*>(a.y) + plan.y_skip * size;
    const Scratch<> scratch(static_cast<int64_t>(made.scratch_bytes));
    const Scratch<> own_x(plan.x_order ? static_cast<int64_t>(made.x.get_size()) : 0);
    const Scratch<> own_y(plan.y_order ? static_cast<int64_t>(made.y.get_size()) : 0);
    void* const inner_x = plan.x_order ? static_cast<void*>(own_x.get()) : x;
    void* const inner_y = plan.y_order ? static_cast<void*>(own_y.get()) : y;
    const bool forward = p_.pass == ConvolutionPass::forward, data_grad = p_.pass == ConvolutionPass::data_grad;
    if (plan.x_order && !data_grad) {
      execute(plan.x_order, {{DNNL_ARG_FROM, &plan.x, x}, {DNNL_ARG_TO, &made.x, inner_x}});
    }
    if (plan.y_order && !forward) {
      execute(plan.y_order, {{DNNL_ARG_FROM, &plan.y, y}, {DNNL_ARG_TO, &made.y, inner_y}});
    }
    const memory::desc scratch_desc({static_cast<int64_t>(made.scratch_bytes)}, memory::data_type::u8, Tag::x);
    execute(made.primitive,
            {{data_grad ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, &made.x, inner_x},
             {forward || data_grad ? DNNL_ARG_WEIGHTS : DNNL_ARG_DIFF_WEIGHTS, &made.w, w},
             {forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, &made.y, inner_y},
             {DNNL_ARG_BIAS, &made.bias, const_cast<void*>(forward && p_.has_inner_bias() ? a.bias : nullptr)},
             {DNNL_ARG_SCRATCHPAD, &scratch_desc, scratch.get()}});
    if (plan.x_order && data_grad) {
      execute(plan.x_order, {{DNNL_ARG_FROM, &made.x, inner_x}, {DNNL_ARG_TO, &plan.x, x}});
    }
    if (plan.y_order && forward) {
      execute(plan.y_order, {{DNNL_ARG_FROM, &made.y, inner_y}, {DNNL_ARG_TO, &plan.y, y}});
    }
    // Not by oneDNN in the same pass: its ReLU makes NaN zero, and to add another array it takes slower kernels. The
    // part is still in the second-level cache.
    if (p_.has_epilogue()) {
      finish_convolution(p_, a, plan.y_skip, static_cast<int64_t>(plan.y.get_size()) / size / p_.out_channels);
    }
  }

  void filter_gradient(const ConvolutionArrays& a) const {
    if (reorder_ == nullptr && parts_.size() == 1) return run_parts(a, a.w.data());
    const size_t bytes = (weights_.get_size() + 63) / 64 * 64;
    const Scratch<> sums(static_cast<int64_t>(bytes * parts_.size()));
    run_parts(a, sums.get(), bytes);
    auto* const sum = reinterpret_cast<float*>(sums.get());
    const auto n = static_cast<int64_t>(weights_.get_size() / sizeof(float));
    if (parts_.size() > 1) {
      parallel_for(n, 1 << 15, [&](int64_t begin, int64_t end) {
        for (size_t part = 1; part < parts_.size(); ++part) {
          const float* const other = sum + part * (bytes / sizeof(float));
          for (int64_t i = begin; i < end; ++i) sum[i] += other[i];
        }
      });
    }
    if (reorder_ != nullptr) return (*reorder_)(sum, a.w.data());
    std::memcpy(a.w.data(), sum, weights_.get_size());
  }

  ConvolutionProblem p_;
  bool is_blocked_;
  std::vector<PartPlan> parts_;
  std::vector<ConvolutionProblem> divided_;
  memory::desc weights_;              // as the primitives have them
  std::unique_ptr<Reorder> reorder_;  // of the weights; null where the caller's order will do
};

struct Key {
  ConvolutionProblem problem;
  OneDnnOrder order;
  friend bool operator==(const Key& a, const Key& b) { return a.order == b.order && a.problem == b.problem; }
};
struct KeyHash {
  size_t operator()(const Key& key) const noexcept { return hash_of(key.problem) ^ static_cast<size_t>(key.order); }
};

struct Kept {
  ForkSafeMutex mutex;  // also for what oneDNN itself locks while it makes primitives
  std::unordered_map<Key, std::unique_ptr<const Prepared>, KeyHash> convolutions;
};

constinit Lazy<Kept> kept;

// The convolution made ready, or null where oneDNN lacks it. Made once in a process, never freed.
const Prepared* prepared(const ConvolutionProblem& p, OneDnnOrder order) {
  const std::lock_guard lock(kept->mutex);
  const auto [entry, is_new] = kept->convolutions.try_emplace({p, order});
  // A bias is added to x by nobody but us.
  const bool has_own_bias = p.pass == ConvolutionPass::data_grad && p.has_bias != 0;
  // oneDNN computes with bfloat16 on other processors too, but slower than with float32.
  const bool has_dtype = p.element() == Dtype::float32 || (p.element() == Dtype::bfloat16 && has_bfloat16_dot());
  if (is_new && p.ndim <= 3 && has_dtype && !has_own_bias) {
    auto made = std::make_unique<const Prepared>(p, order);
    if (made->is_usable()) entry->second = std::move(made);
  }
  return entry->second.get();
}

}  // namespace

bool onednn_supports(const ConvolutionProblem& p, OneDnnOrder order) { return prepared(p, order) != nullptr; }

size_t onednn_workspace(const ConvolutionProblem& p, OneDnnOrder order) { return prepared(p, order)->workspace(); }

void convolve_onednn(const ConvolutionProblem& p, OneDnnOrder order, const ConvolutionArrays& a) {
  (*prepared(p, order))(a);
}

}  // namespace kusari::cpu

#else

namespace kusari::cpu {

bool onednn_supports(const ConvolutionProblem&, OneDnnOrder) { return false; }
size_t onednn_workspace(const ConvolutionProblem&, OneDnnOrder) { return 0; }
void convolve_onednn(const ConvolutionProblem&, OneDnnOrder, const ConvolutionArrays&) {}

}  // namespace kusari::cpu

#endif
