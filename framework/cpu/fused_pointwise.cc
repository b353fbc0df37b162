#include "kusari/framework/kernels/fused_pointwise.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "kusari/framework/core/basic_kernels.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/pointwise.h"
#include "kusari/framework/cpu/register.h"
#include "kusari/framework/cpu/scratch.h"
#include "kusari/framework/kernels/broadcast.h"
#include "kusari/framework/kernels/strided.h"

// The program is run tile by tile, so that intermediates stay in the first-level cache; each operation by the loop of
// its own kernel, so that results are the same bits.
namespace kusari::cpu {
namespace {

using kernels::FusedProgram;

/// Elements of a tile. Rows that are at least half as long are not put together.
constexpr int64_t kTile = kBlock;

/// One operation with what it calls.
struct Operation {
  PointwiseLoop loop;           // of a functor
  ConvertLoop convert;          // of a copy: to its dtype,
  ConvertLoop hold;             // and from there to the type that it is held in, where that is another
  alignas(8) char constant[8];  // of a fill, as it is held
  int direct;                   // the output whose memory keeps the result, or -1
};

/// How an array lies in memory.
struct Operand {
  enum class Kind : uint8_t {
    dense,     // element i is i elements from the first
    repeated,  // one element everywhere
    rows,      // as a StridedLoop says
  };
  Kind kind;
  int size;       // bytes of an element
  int held_size;  // bytes of an element of a tile
  char* base;
  ConvertLoop convert;  // null where it is held in its dtype
};

struct Program {
  const FusedProgram& program;
  Operation op[FusedProgram::kMaxOps];
  Operand in[FusedProgram::kMaxInputs];
  Operand out[FusedProgram::kMaxOutputs];

  int64_t element_bytes = 4;  // of the widest value

  Program(const FusedProgram& p, std::span<const Array> inputs, std::span<const Array> outputs) : program{p} {
    for (int j = 0; j < p.ops; ++j) resolve(p.op[j], op[j]);
    for (int i = 0; i < p.inputs; ++i) {
      const Array& x = inputs[static_cast<size_t>(i)];
      const ConvertLoop convert = x.dtype() == p.input[i] ? nullptr : convert_loop(x.dtype(), p.input[i]);
      in[i] = describe(x, p.input[i], convert);
    }
    for (int k = 0; k < p.outputs; ++k) {
      const Array& y = outputs[static_cast<size_t>(k)];
      const Dtype held = p.held(p.output[k]);
      out[k] = describe(y, held, y.dtype() == held ? nullptr : convert_loop(held, y.dtype()));
    }
  }

  /// Lets results be computed where outputs lie, those that `allows` it.
  template <class Allows>
  void write_directly(const Allows& allows) {
    for (int k = 0; k < program.outputs; ++k) {
      const int result = program.output[k] - program.inputs;
      if (result >= 0 && op[result].direct < 0 && out[k].convert == nullptr && allows(out[k])) op[result].direct = k;
    }
  }

 private:
  Operand describe(const Array& array, Dtype held, ConvertLoop convert) {
    const int64_t held_size = itemsize(held);
    element_bytes = std::max(element_bytes, held_size);
    return {Operand::Kind::dense, static_cast<int>(itemsize(array.dtype())), static_cast<int>(held_size),
            array.data<char>(), convert};
  }

  void resolve(const FusedProgram::Op& from, Operation& to) {
    element_bytes = std::max(element_bytes, itemsize(from.held));
    to.loop = nullptr;
    to.convert = to.hold = nullptr;
    to.direct = -1;
    if (from.arguments == 0) {
      const Scalar& value = *reinterpret_cast<const Scalar*>(from.functor);
      visit_dtype(from.dtype, [&]<class T>() {
        const T element = value.as<T>();
        convert_loop(from.dtype, from.held)(&element, to.constant, 1);
      });
    } else if (from.kernel.index == kernel_id<kernels::Copy>().index) {
      to.convert = convert_loop(program.held(from.operand[0]), from.dtype);
      if (from.dtype != from.held) to.hold = convert_loop(from.dtype, from.held);
    } else {
      to.loop = loop_of(loops_of_kernel(from.kernel), compute_of(from.held));
      if (to.loop == nullptr) throw_unknown(from);
    }
  }

  [[noreturn]] static void throw_unknown(const FusedProgram::Op& from) {
    const PointwiseFunctor* const functor = find_pointwise_functor(from.kernel);
    throw TypeError(std::string("fused_pointwise: ") +
                    (functor != nullptr ? functor->type : "a kernel without functor") + " cannot compute in " +
                    name(from.held));
  }
};

/// A thread's tiles: of the results, of inputs that are not used where they lie, and one for conversions.
class Tiles {
 public:
  Tiles(const Program& program, int64_t elements)
      : p_{program},
        tile_bytes_{(elements * program.element_bytes + 63) / 64 * 64},
        needed_{(program.program.places + program.program.inputs + 1) * tile_bytes_},
        large_{needed_ > kSmall ? needed_ : 0},
        memory_{needed_ > kSmall ? large_.get() : small_} {
    value[0] = nullptr;  // which unused operands name
  }

  char* input(int i) { return tile(i); }

  /// Sets the inputs' values and the outputs' places of dense arrays, for elements from `first` on.
  void locate_dense(int64_t first, int64_t n) {
    for (int i = 0; i < p_.program.inputs; ++i) {
      const Operand& x = p_.in[i];
      if (x.kind != Operand::Kind::dense) continue;
      const char* const from = x.base + first * x.size;
      if (x.convert != nullptr) x.convert(from, tile(i), n);
      value[i] = x.convert != nullptr ? tile(i) : from;
    }
    for (int k = 0; k < p_.program.outputs; ++k) {
      if (p_.out[k].kind == Operand::Kind::dense) target[k] = p_.out[k].base + first * p_.out[k].size;
    }
  }

  /// Fills the tiles of inputs that are one number.
  void fill_repeated(int64_t n) {
    for (int i = 0; i < p_.program.inputs; ++i) {
      const Operand& x = p_.in[i];
      if (x.kind != Operand::Kind::repeated) continue;
      alignas(8) char held[8];
      const char* element = x.base;
      if (x.convert != nullptr) {
        x.convert(x.base, held, 1);
        element = held;
      }
      copy_strided(element, 0, tile(i), x.held_size, n, x.held_size);
      value[i] = tile(i);
    }
  }

  /// Computes the results of n elements.
  void run(int64_t n) {
    const FusedProgram& program = p_.program;
    const void** const results = value + program.inputs;
    for (int j = 0; j < program.ops; ++j) {
      const FusedProgram::Op& op = program.op[j];
      const Operation& operation = p_.op[j];
      void* const to = operation.direct >= 0 ? target[operation.direct] : tile(program.inputs + op.place);
      if (operation.loop != nullptr) {
        const void* const in[4] = {value[op.operand[0]], value[op.operand[1]], value[op.operand[2]],
                                   value[op.operand[3]]};
        operation.loop(op.functor, in, to, n);
      } else if (operation.convert != nullptr) {
        char* const between =
            operation.hold != nullptr ? tile(program.inputs + program.places) : static_cast<char*>(to);
        operation.convert(value[op.operand[0]], between, n);
        if (operation.hold != nullptr) operation.hold(between, to, n);
      } else {
        const int size = static_cast<int>(itemsize(op.held));
        copy_strided(operation.constant, 0, static_cast<char*>(to), size, n, size);
      }
      results[j] = to;
    }
  }

  bool is_written(int output) const {
    const int result = p_.program.output[output] - p_.program.inputs;
    return result >= 0 && p_.op[result].direct == output;
  }

  /// Writes the outputs of dense arrays that hold no results yet.
  void write_dense(int64_t n) {
    for (int k = 0; k < p_.program.outputs; ++k) {
      if (p_.out[k].kind != Operand::Kind::dense || is_written(k)) continue;
      const void* const from = value[p_.program.output[k]];
      if (p_.out[k].convert != nullptr) {
        p_.out[k].convert(from, target[k], n);
      } else {
        std::memmove(target[k], from, static_cast<size_t>(n * p_.out[k].size));
      }
    }
  }

  const void* value[FusedProgram::kMaxInputs + FusedProgram::kMaxOps];
  char* target[FusedProgram::kMaxOutputs];

 private:
  static constexpr int64_t kSmall = 16384;

  char* tile(int number) { return memory_ + number * tile_bytes_; }

  const Program& p_;
  int64_t tile_bytes_;
  int64_t needed_;
  Scratch<> large_;
  char* memory_;
  alignas(64) char small_[kSmall];
};

/// Elements of a range that one thread works on at a time: fewer where there is more to do with each.
int64_t thread_chunk(int ops) { return std::max(kThreadChunk / 4, kThreadChunk * 2 / (ops + 1) / kTile * kTile); }

/// Every array is dense in the same order, or one number.
void run_dense(Program& program, int64_t n) {
  program.write_directly([](const Operand&) { return true; });
  const auto run = [&](int64_t begin, int64_t end) {
    const int64_t step = std::min(kTile, end - begin);
    Tiles tiles(program, step);
    tiles.fill_repeated(step);
    for (int64_t first = begin; first < end; first += step) {
      const int64_t count = std::min(step, end - first);
      tiles.locate_dense(first, count);
      tiles.run(count);
      tiles.write_dense(count);
    }
  };
  if (n <= kThreadChunk / 4) {
    run(0, n);
  } else {
    parallel_for(n, thread_chunk(program.program.ops), run);
  }
}

/// Tiles of several short rows or of pieces of long ones.
class RowTiles {
 public:
  RowTiles(Program& program, const StridedLoop& plan, std::span<const Array> inputs, std::span<const Array> outputs)
      : p_{program},
        plan_{plan},
        row_size_{plan.row_size()},
        rows_{std::max<int64_t>(1, row_size_ >= kTile / 2 ? 1 : std::min(kTile / row_size_, plan.rows()))},
        pieces_{(row_size_ + kTile - 1) / kTile} {
    for (int k = 0; k < p_.program.outputs; ++k) {
      const Array& y = outputs[static_cast<size_t>(k)];
      p_.out[k].kind = kind_of(k, p_.out[k].size);
      writer_[k] = BlockWriter(y.dtype(), plan_.row_stride(k), compute_of(p_.program.held(p_.program.output[k])));
    }
    for (int i = 0; i < p_.program.inputs; ++i) {
      const int k = p_.program.outputs + i;
      p_.in[i].kind = kind_of(k, p_.in[i].size);
      reader_[i] =
          BlockReader(inputs[static_cast<size_t>(i)].dtype(), plan_.row_stride(k), compute_of(p_.program.input[i]));
    }
    p_.write_directly([&](const Operand& y) {
      return y.kind == Operand::Kind::dense || (rows_ == 1 && writer_[&y - p_.out].is_direct());
    });
  }

  void run() const {
    const int64_t tile = rows_ * std::min(row_size_, kTile);
    const int64_t units = (plan_.rows() + rows_ - 1) / rows_ * pieces_;
    parallel_for(units, std::max<int64_t>(1, thread_chunk(p_.program.ops) / tile),
                 [&](int64_t begin, int64_t end) { run(begin, end, tile); });
  }

 private:
  Operand::Kind kind_of(int k, int size) const {
    bool repeated = true, dense = plan_.row_stride(k) == size;
    for (int axis = 0; axis < plan_.ndim(); ++axis) {
      repeated = repeated && plan_.stride(k, axis) == 0;
      if (axis + 1 < plan_.ndim()) {
        dense = dense && plan_.stride(k, axis) == plan_.stride(k, axis + 1) * plan_.size(axis + 1);
      }
    }
    return dense ? Operand::Kind::dense : (repeated ? Operand::Kind::repeated : Operand::Kind::rows);
  }

  /// Whether every tile of the input has the same contents: one row for all.
  bool is_periodic(int i) const {
    return plan_.ndim() == 2 && pieces_ == 1 && plan_.outer_stride(p_.program.outputs + i) == 0;
  }

  void run(int64_t begin, int64_t end, int64_t tile) const {
    Tiles tiles(p_, tile);
    tiles.fill_repeated(tile);
    StridedLoop::Cursor at(plan_, begin / pieces_ * rows_), written(plan_, begin / pieces_ * rows_);
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t row = unit / pieces_ * rows_, piece = unit % pieces_ * kTile;
      const int64_t rows = std::min(rows_, plan_.rows() - row), n = std::min(row_size_ - piece, kTile);
      const bool is_last_piece = piece + kTile >= row_size_;
      tiles.locate_dense(row * row_size_ + piece, rows * n);
      for (int64_t r = 0; r < rows; ++r) {
        read(tiles, at, r, piece, n, unit == begin);
        if (is_last_piece && (unit + 1 < end || r + 1 < rows)) at.next();
      }
      tiles.run(rows * n);
      tiles.write_dense(rows * n);
      for (int64_t r = 0; r < rows; ++r) {
        write(tiles, written, r, piece, n);
        if (is_last_piece && (unit + 1 < end || r + 1 < rows)) written.next();
      }
    }
  }

  /// Row r of the tile, of inputs that are not dense.
  void read(Tiles& tiles, const StridedLoop::Cursor& at, int64_t r, int64_t piece, int64_t n, bool is_first) const {
    for (int i = 0; i < p_.program.inputs; ++i) {
      if (p_.in[i].kind != Operand::Kind::rows || (!is_first && is_periodic(i))) continue;
      const int k = p_.program.outputs + i;
      char* const to = tiles.input(i) + r * n * p_.in[i].held_size;
      const void* const from = reader_[i].read(at[k] + piece * plan_.row_stride(k), n, to);
      if (rows_ == 1) {
        tiles.value[i] = from;
      } else {
        if (from != to) std::memcpy(to, from, static_cast<size_t>(n * p_.in[i].held_size));
        tiles.value[i] = tiles.input(i);
      }
    }
    if (r > 0) return;
    for (int k = 0; k < p_.program.outputs; ++k) {
      if (p_.out[k].kind == Operand::Kind::rows) tiles.target[k] = at[k] + piece * plan_.row_stride(k);
    }
  }

  /// Row r of the tile, of outputs that are not dense.
  void write(Tiles& tiles, const StridedLoop::Cursor& at, int64_t r, int64_t piece, int64_t n) const {
    for (int k = 0; k < p_.program.outputs; ++k) {
      if (p_.out[k].kind != Operand::Kind::rows || tiles.is_written(k)) continue;
      const char* const from = static_cast<const char*>(tiles.value[p_.program.output[k]]);
      writer_[k].write(from + r * n * p_.out[k].held_size, n, at[k] + piece * plan_.row_stride(k));
    }
  }

  Program& p_;
  const StridedLoop& plan_;
  int64_t row_size_;
  int64_t rows_;    // of a tile
  int64_t pieces_;  // of a row
  BlockReader reader_[FusedProgram::kMaxInputs];
  BlockWriter writer_[FusedProgram::kMaxOutputs];
};

void fused_pointwise(Params<FusedProgram> fused, InList inputs, OutList outputs) {
  const std::span<const Array> in = inputs.arrays(), out = outputs.arrays();
  if (static_cast<int>(in.size()) != fused->inputs || static_cast<int>(out.size()) != fused->outputs || out.empty()) {
    throw ValueError("fused_pointwise: the program has " + std::to_string(fused->inputs) + " inputs and " +
                     std::to_string(fused->outputs) + " outputs but got " + std::to_string(in.size()) + " and " +
                     std::to_string(out.size()) + " arrays");
  }
  const int64_t n = out[0].size();
  Program program(*fused, in, out);
  bool is_dense = true;
  for (const Array& y : out) is_dense = is_dense && y.is_contiguous() && y.size() == n;
  for (size_t i = 0; i < in.size() && is_dense; ++i) {
    // The inputs' shapes broadcast to the outputs', so with equal sizes they are these but for axes of size 1.
    if (in[i].size() == 1 && n != 1) {
      program.in[i].kind = Operand::Kind::repeated;
    } else {
      is_dense = in[i].is_contiguous() && in[i].size() == n;
    }
  }
  if (is_dense) {
    if (n > 0) run_dense(program, n);
    return;
  }
  for (const Array& y : out) {
    if (y.shape() != out[0].shape()) {
      throw TypeError("fused_pointwise: outputs have shapes " + to_string(out[0].shape()) + " and " +
                      to_string(y.shape()) + " but must have one");
    }
  }
  for (const Array& x : in) check_broadcast("fused_pointwise", x, out[0].shape());
  if (n == 0) return;
  const Array* operands[FusedProgram::kMaxOperands];
  int count = 0;
  for (const Array& y : out) operands[count++] = &y;
  for (const Array& x : in) operands[count++] = &x;
  const StridedLoop plan({operands, static_cast<size_t>(count)});
  RowTiles(program, plan, in, out).run();
}

}  // namespace

void register_fused_pointwise(Backend& backend) { backend.add<kernels::FusedPointwise>(&fused_pointwise); }

}  // namespace kusari::cpu
