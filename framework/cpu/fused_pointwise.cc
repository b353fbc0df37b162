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
#include "kusari/framework/kernels/strided.h"

// The program is run tile by tile, so that intermediates stay in the first-level cache; each operation by the loop of
// its own kernel, so that results are the same bits.
namespace kusari::cpu {
namespace {

using kernels::FusedProgram;

using Prepared = FusedProgram::Prepared;

/// Bytes of a tile of one value.
constexpr int64_t kTileBytes = 4096;

template <class Function>
Prepared::Function stored(Function function) {
  return reinterpret_cast<Prepared::Function>(function);
}
/// Null where nothing is to be converted.
ConvertLoop converting(Dtype from, Dtype to) { return from == to ? nullptr : convert_loop(from, to); }

/// Looks up the loops: of a functor in op[][0]; of a copy, to its dtype in op[][0] and to the type that it is held in,
/// if that is another, in op[][1]; for inputs and outputs that are not held in their dtypes, the conversion.
void resolve(FusedProgram& program) {
  Prepared& prepared = program.prepared;
  prepared = {};
  prepared.element_bytes = 4;
  for (int i = 0; i < program.inputs; ++i) {
    prepared.input[i] = stored(converting(program.input_dtype[i], program.input[i]));
    prepared.element_bytes = std::max(prepared.element_bytes, itemsize(program.input[i]));
  }
  for (int j = 0; j < program.ops; ++j) {
    const FusedProgram::Op& op = program.op[j];
    prepared.direct[j] = -1;
    prepared.element_bytes = std::max(prepared.element_bytes, itemsize(op.held));
    if (op.kernel.index == kernel_id<kernels::Copy>().index) {
      prepared.element_bytes = std::max(prepared.element_bytes, itemsize(op.dtype));  // of the tile between
      prepared.op[j][0] = stored(convert_loop(program.held(op.operand[0]), op.dtype));
      prepared.op[j][1] = stored(converting(op.dtype, op.held));
    } else if (op.arguments > 0) {
      prepared.op[j][0] = stored(loop_of(loops_of_kernel(op.kernel), compute_of(op.held)));
      if (prepared.op[j][0] == nullptr) {
        const PointwiseFunctor* const functor = find_pointwise_functor(op.kernel);
        throw TypeError(std::string("fused_pointwise: ") + (functor != nullptr ? functor->type : "an unknown kernel") +
                        " cannot compute in " + name(op.held));
      }
    }
  }
  for (int k = 0; k < program.outputs; ++k) {
    const int result = program.output[k] - program.inputs;
    prepared.output[k] = stored(converting(program.held(program.output[k]), program.output_dtype[k]));
    if (result >= 0 && prepared.direct[result] < 0 && prepared.output[k] == nullptr) {
      prepared.direct[result] = static_cast<int8_t>(k);
    }
  }
  prepared.is_done = true;
}

/// A thread's tiles: of inputs that are not used where they lie, of results, and one for conversions.
class Tiles {
 public:
  Tiles(const FusedProgram& program, const int8_t* direct, int64_t elements)
      : program_{program},
        direct_{direct},
        tile_bytes_{(elements * program.prepared.element_bytes + 63) & ~int64_t{63}},
        large_{needed() > kSmall ? needed() : 0},
        memory_{needed() > kSmall ? large_.get() : small_} {
    value[0] = nullptr;  // which unused operands name
  }

  char* input(int i) { return memory_ + i * tile_bytes_; }

  void read_dense(int i, const char* from, int64_t n) {
    const auto convert = reinterpret_cast<ConvertLoop>(program_.prepared.input[i]);
    value[i] = from;
    if (convert != nullptr) {
      convert(from, input(i), n);
      value[i] = input(i);
    }
  }
  /// One number n times.
  void read_repeated(int i, const char* from, int64_t n) {
    alignas(8) char held[8];
    if (const auto convert = reinterpret_cast<ConvertLoop>(program_.prepared.input[i])) {
      convert(from, held, 1);
      from = held;
    }
    const int size = static_cast<int>(itemsize(program_.input[i]));
    copy_strided(from, 0, input(i), size, n, size);
    value[i] = input(i);
  }

  /// Computes the results of n elements.
  void run(int64_t n) {
    const void** const results = value + program_.inputs;
    char* const places = memory_ + program_.inputs * tile_bytes_;
    for (int j = 0; j < program_.ops; ++j) {
      const FusedProgram::Op& op = program_.op[j];
      const Prepared::Function* const function = program_.prepared.op[j];
      char* const to = direct_[j] >= 0 ? target[direct_[j]] : places + op.place * tile_bytes_;
      results[j] = to;
      if (op.kernel.index == copy_) {
        char* const between = function[1] == nullptr ? to : places + program_.places * tile_bytes_;
        reinterpret_cast<ConvertLoop>(function[0])(value[op.operand[0]], between, n);
        if (function[1] != nullptr) reinterpret_cast<ConvertLoop>(function[1])(between, to, n);
      } else if (op.arguments > 0) {
        const void* const in[4] = {value[op.operand[0]], value[op.operand[1]], value[op.operand[2]],
                                   value[op.operand[3]]};
        reinterpret_cast<PointwiseLoop>(function[0])(op.functor, in, to, n);
      } else {
        fill(op, to, n);
      }
    }
  }

  /// Whether the output holds its result already.
  bool is_written(int output) const {
    const int result = program_.output[output] - program_.inputs;
    return result >= 0 && direct_[result] == output;
  }
  void write_dense(int k, int64_t n) {
    const void* const from = value[program_.output[k]];
    if (const auto convert = reinterpret_cast<ConvertLoop>(program_.prepared.output[k])) {
      convert(from, target[k], n);
    } else {
      std::memmove(target[k], from, static_cast<size_t>(n * itemsize(program_.output_dtype[k])));
    }
  }

  const void* value[FusedProgram::kMaxInputs + FusedProgram::kMaxOps];
  char* target[FusedProgram::kMaxOutputs];  // the next elements of the outputs

 private:
  static constexpr int64_t kSmall = 16384;

  int64_t needed() const { return (program_.places + program_.inputs + 1) * tile_bytes_; }

  static void fill(const FusedProgram::Op& op, char* to, int64_t n) {
    const Scalar& value = *reinterpret_cast<const Scalar*>(op.functor);
    alignas(8) char held[8];
    visit_dtype(op.dtype, [&]<class T>() {
      const T element = value.as<T>();
      convert_loop(op.dtype, op.held)(&element, held, 1);
    });
    const int size = static_cast<int>(itemsize(op.held));
    copy_strided(held, 0, to, size, n, size);
  }

  const FusedProgram& program_;
  const int8_t* direct_;
  const int copy_ = kernel_id<kernels::Copy>().index;
  int64_t tile_bytes_;
  Scratch<> large_;
  char* memory_;
  alignas(64) char small_[kSmall];
};

/// Elements of a range that one thread works on at a time: fewer where there is more to do with each.
int64_t thread_chunk(int ops) {
  return std::max(kThreadChunk / 4, kThreadChunk * 2 / (ops + 1) / kTileBytes * kTileBytes);
}

/// Every array is dense in the same order, or one number.
void run_dense(const FusedProgram& program, std::span<const Array> in, std::span<const Array> out, int64_t n) {
  const auto run = [&](int64_t begin, int64_t end) {
    const int64_t step = std::min(kTileBytes / program.prepared.element_bytes, end - begin);
    Tiles tiles(program, program.prepared.direct, step);
    for (size_t i = 0; i < in.size(); ++i) {
      if (in[i].size() != n) tiles.read_repeated(static_cast<int>(i), in[i].data<char>(), step);
    }
    for (int64_t first = begin; first < end; first += step) {
      const int64_t count = std::min(step, end - first);
      for (size_t i = 0; i < in.size(); ++i) {
        if (in[i].size() != n) continue;
        tiles.read_dense(static_cast<int>(i), in[i].data<char>() + first * itemsize(in[i].dtype()), count);
      }
      for (size_t k = 0; k < out.size(); ++k) {
        tiles.target[k] = out[k].data<char>() + first * itemsize(out[k].dtype());
      }
      tiles.run(count);
      for (int k = 0; k < program.outputs; ++k) {
        if (!tiles.is_written(k)) tiles.write_dense(k, count);
      }
    }
  };
  if (n <= kThreadChunk / 4) {
    run(0, n);
  } else {
    parallel_for(n, thread_chunk(program.ops), run);
  }
}

/// Tiles of several short rows or of pieces of long ones.
class RowTiles {
 public:
  RowTiles(const FusedProgram& program, const StridedLoop& plan)
      : program_{program},
        plan_{plan},
        tile_{kTileBytes / program.prepared.element_bytes},
        row_size_{plan.row_size()},
        rows_{row_size_ >= tile_ / 2 ? 1 : std::min(tile_ / row_size_, plan.rows())},
        pieces_{(row_size_ + tile_ - 1) / tile_} {
    for (int k = 0; k < program.outputs; ++k) {
      kind_[k] = kind_of(k, program.output_dtype[k]);
      if (kind_[k] == Kind::once) kind_[k] = Kind::rows;  // one row is all there is
      writer_[k] =
          BlockWriter(program.output_dtype[k], plan.row_stride(k), compute_of(program.held(program.output[k])));
      scatters_ = scatters_ || kind_[k] == Kind::rows;
    }
    for (int i = 0; i < program.inputs; ++i) {
      const int k = program.outputs + i;
      kind_[k] = kind_of(k, program.input_dtype[i]);
      reader_[i] = BlockReader(program.input_dtype[i], plan.row_stride(k), compute_of(program.input[i]));
      gathers_ = gathers_ || kind_[k] == Kind::rows;
    }
    for (int j = 0; j < program.ops; ++j) {
      const int k = program.prepared.direct[j];
      const bool is_direct = k >= 0 && (kind_[k] == Kind::dense || (rows_ == 1 && writer_[k].is_direct()));
      direct_[j] = static_cast<int8_t>(is_direct ? k : -1);
    }
  }

  void run() const {
    const int64_t units = (plan_.rows() + rows_ - 1) / rows_ * pieces_;
    parallel_for(units, std::max<int64_t>(1, thread_chunk(program_.ops) / tile_size()),
                 [&](int64_t begin, int64_t end) { run(begin, end); });
  }

 private:
  enum class Kind : uint8_t {
    dense,  // element i is i elements from the first
    once,   // the same for every tile: one number, or one row for all
    rows,   // as the plan says
  };

  int64_t tile_size() const { return rows_ * std::min(row_size_, tile_); }

  Kind kind_of(int k, Dtype dtype) const {
    bool repeated = true, dense = plan_.row_stride(k) == itemsize(dtype);
    for (int axis = 0; axis < plan_.ndim(); ++axis) {
      const bool is_inner = axis + 1 == plan_.ndim();
      repeated = repeated && (plan_.stride(k, axis) == 0 || (is_inner && pieces_ == 1));
      dense = dense && (is_inner || plan_.stride(k, axis) == plan_.stride(k, axis + 1) * plan_.size(axis + 1));
    }
    return dense ? Kind::dense : (repeated ? Kind::once : Kind::rows);
  }

  void run(int64_t begin, int64_t end) const {
    Tiles tiles(program_, direct_, tile_size());
    const int64_t first_row = begin / pieces_ * rows_;
    StridedLoop::Cursor at(plan_, first_row), written(plan_, first_row);
    for (int64_t r = 0; r < rows_; ++r) read(tiles, at, Kind::once, r, 0, std::min(row_size_, tile_), true);
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t row = unit / pieces_ * rows_, piece = unit % pieces_ * tile_;
      const int64_t rows = std::min(rows_, plan_.rows() - row), n = std::min(row_size_ - piece, tile_);
      const bool is_last_piece = piece + tile_ >= row_size_;
      const auto advance = [&](StridedLoop::Cursor& cursor, int64_t r) {
        if (is_last_piece && (unit + 1 < end || r + 1 < rows)) cursor.next();
      };
      locate_dense(tiles, row * row_size_ + piece, rows * n);
      for (int k = 0; k < program_.outputs && scatters_; ++k) {
        if (kind_[k] == Kind::rows) tiles.target[k] = written[k] + piece * plan_.row_stride(k);
      }
      for (int64_t r = 0; r < rows && gathers_; ++r) {
        read(tiles, at, Kind::rows, r, piece, n, piece == 0 || unit == begin);
        advance(at, r);
      }
      tiles.run(rows * n);
      for (int k = 0; k < program_.outputs; ++k) {
        if (kind_[k] == Kind::dense && !tiles.is_written(k)) tiles.write_dense(k, rows * n);
      }
      for (int64_t r = 0; r < rows && scatters_; ++r) {
        write(tiles, written, r, piece, n);
        advance(written, r);
      }
    }
  }

  void locate_dense(Tiles& tiles, int64_t first, int64_t n) const {
    for (int k = 0; k < program_.outputs; ++k) {
      if (kind_[k] == Kind::dense) tiles.target[k] = plan_.base(k) + first * itemsize(program_.output_dtype[k]);
    }
    for (int i = 0; i < program_.inputs; ++i) {
      const int k = program_.outputs + i;
      if (kind_[k] == Kind::dense) tiles.read_dense(i, plan_.base(k) + first * itemsize(program_.input_dtype[i]), n);
    }
  }

  /// A piece of row r of the tile, of the inputs of one kind.
  void read(Tiles& tiles, const StridedLoop::Cursor& at, Kind kind, int64_t r, int64_t piece, int64_t n,
            bool is_first) const {
    for (int i = 0; i < program_.inputs; ++i) {
      const int k = program_.outputs + i;
      if (kind_[k] != kind) continue;
      const int64_t stride = plan_.row_stride(k), bytes = itemsize(program_.input[i]);
      if (stride == 0 && !is_first) continue;  // the row's first piece serves all
      const char* const from = (kind == Kind::once ? plan_.base(k) : at[k]) + piece * stride;
      char* const to = tiles.input(i) + r * n * bytes;
      tiles.value[i] = tiles.input(i);
      if (!reader_[i].is_direct()) {
        for (int64_t done = 0; done < n; done += kBlock)
          reader_[i].read(from + done * stride, std::min(kBlock, n - done), to + done * bytes);
      } else if (rows_ > 1) {
        std::memcpy(to, from, static_cast<size_t>(n * bytes));
      } else {
        tiles.value[i] = from;
      }
    }
  }

  /// A piece of row r of the tile, of the outputs that are not dense.
  void write(const Tiles& tiles, const StridedLoop::Cursor& at, int64_t r, int64_t piece, int64_t n) const {
    for (int k = 0; k < program_.outputs; ++k) {
      if (kind_[k] != Kind::rows || tiles.is_written(k)) continue;
      const int64_t stride = plan_.row_stride(k), bytes = itemsize(program_.held(program_.output[k]));
      const char* const from = static_cast<const char*>(tiles.value[program_.output[k]]) + r * n * bytes;
      char* const to = at[k] + piece * stride;
      for (int64_t done = 0; done < n; done += kBlock)
        writer_[k].write(from + done * bytes, std::min(kBlock, n - done), to + done * stride);
    }
  }

  const FusedProgram& program_;
  const StridedLoop& plan_;
  int64_t tile_;  // elements at most
  int64_t row_size_;
  int64_t rows_;    // of a tile
  int64_t pieces_;  // of a row
  bool gathers_ = false, scatters_ = false;
  Kind kind_[FusedProgram::kMaxOperands];  // outputs first
  BlockReader reader_[FusedProgram::kMaxInputs];
  BlockWriter writer_[FusedProgram::kMaxOutputs];
  int8_t direct_[FusedProgram::kMaxOps];
};

/// As the arrays lie in memory.
void run_strided(const FusedProgram& program, std::span<const Array> in, std::span<const Array> out) {
  check_fused_shapes(in, out);
  if (out[0].size() == 0) return;
  const Array* operands[FusedProgram::kMaxOperands];
  size_t count = 0;
  for (const Array& y : out) operands[count++] = &y;
  for (const Array& x : in) operands[count++] = &x;
  const StridedLoop plan({operands, count});
  RowTiles(program, plan).run();
}

void fused_pointwise(Params<FusedProgram> program, InList inputs, OutList outputs) {
  const std::span<const Array> in = inputs.arrays(), out = outputs.arrays();
  check_fused_arrays(*program, in, out);
  if (!program->prepared.is_done) {
    FusedProgram prepared = *program;
    resolve(prepared);
    return fused_pointwise(prepared, inputs, outputs);
  }
  // The inputs' shapes broadcast to the outputs', so with equal sizes they are these but for axes of size 1.
  const int64_t n = out[0].size();
  bool is_dense = true;
  for (const Array& y : out) is_dense = is_dense && y.is_contiguous() && y.size() == n;
  for (const Array& x : in) is_dense = is_dense && x.is_contiguous() && (x.size() == n || x.size() == 1);
  if (!is_dense) {
    run_strided(*program, in, out);
  } else if (n > 0) {
    run_dense(*program, in, out, n);
  }
}

void prepare_fused_pointwise(Params<FusedProgram*> program, InList inputs, OutList outputs) {
  check_fused_arrays(**program, inputs.arrays(), outputs.arrays());
  resolve(**program);
}

}  // namespace

void register_fused_pointwise(Backend& backend) {
  backend.add<kernels::FusedPointwise>(&fused_pointwise);
  backend.add<kernels::PrepareFusedPointwise>(&prepare_fused_pointwise);
}

}  // namespace kusari::cpu
