#include "kusari/framework/core/key_hash.h"
#include "kusari/framework/cpu/matmul.h"
#include "kusari/framework/cpu/onednn.h"

#if defined(KUSARI_WITH_ONEDNN)

#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/fork_safe.h"
#include "kusari/framework/core/memory.h"
#include "kusari/framework/core/thread_owned.h"

namespace kusari::cpu {
namespace {

using dnnl::memory;

// Everything that a primitive is built from; addresses come with each call.
struct Key {
  int64_t m, n, k;
  int64_t a_row, a_column, b_row, b_column, c_row;
  int64_t types;  // dtypes, and whether there is a bias

  friend bool operator==(const Key& x, const Key& y) { return std::memcmp(&x, &y, sizeof(Key)) == 0; }
};

struct KeyHash {
  size_t operator()(const Key& key) const noexcept { return hash_words(key); }
};

Key key_of(const MatrixProduct& p) {
  constexpr int64_t kDtypes = 16;
  const int64_t bias = p.bias == nullptr ? kDtypes - 1 : static_cast<int64_t>(p.bias_dtype);
  const int64_t types = (static_cast<int64_t>(p.dtype) * kDtypes + static_cast<int64_t>(p.c_dtype)) * kDtypes + bias;
  return {p.m, p.n, p.k, p.a_row, p.a_column, p.b_row, p.b_column, p.c_row, types};
}

memory::desc matrix(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride, memory::data_type type) {
  return memory::desc({rows, columns}, type, memory::dims{row_stride, column_stride});
}

// A primitive with the memory objects of its arguments, which are given new addresses at each call.
class Product {
 public:
  static std::unique_ptr<Product> create(const MatrixProduct& p) {
    const memory::data_type type = onednn_type(p.dtype);
    const memory::desc a = matrix(p.m, p.k, p.a_row, p.a_column, type);
    const memory::desc b = matrix(p.k, p.n, p.b_row, p.b_column, type);
    const memory::desc bias = p.bias != nullptr ? matrix(1, p.n, p.n, 1, onednn_type(p.bias_dtype)) : memory::desc();
    const memory::desc c = matrix(p.m, p.n, p.c_row, 1, onednn_type(p.c_dtype));
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    expect_room_for_kernels();
    try {
#if DNNL_VERSION_MAJOR >= 3
      const dnnl::matmul::primitive_desc description =
          p.bias != nullptr ? dnnl::matmul::primitive_desc(onednn_engine(), a, b, bias, c, attributes)
                            : dnnl::matmul::primitive_desc(onednn_engine(), a, b, c, attributes);
#else
      const dnnl::matmul::desc operation =
          p.bias != nullptr ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c);
      const dnnl::matmul::primitive_desc description(operation, attributes, onednn_engine());
#endif
      return std::unique_ptr<Product>(new Product(description, a, b, bias, c, p.bias != nullptr));
    } catch (const dnnl::error& error) {
      if (error.status == dnnl_unimplemented) return nullptr;
      const std::string what = std::string("matmul: oneDNN: ") + error.what();
      if (error.status == dnnl_out_of_memory) throw OutOfMemoryError(what);
      throw Error(what);
    }
  }

  void operator()(const MatrixProduct& p) {
    void* const scratch = scratch_bytes_ > 0 ? kusari::memory::allocate(scratch_bytes_) : nullptr;
    const void* const addresses[kMost] = {p.a, p.b, p.c, scratch, p.bias};
    for (int i = 0; i < count_; ++i) {
      dnnl_memory_set_data_handle(arguments_[i].memory, const_cast<void*>(addresses[i]));
    }
    const dnnl_status_t status =
        dnnl_primitive_execute(primitive_.get(), onednn_stream().get(), count_, arguments_.data());
    kusari::memory::deallocate(scratch, scratch_bytes_);
    if (status != dnnl_success) throw Error("matmul: oneDNN failed with status " + std::to_string(status));
  }

 private:
  static constexpr int kMost = 5;

  Product(const dnnl::matmul::primitive_desc& description, const memory::desc& a, const memory::desc& b,
          const memory::desc& bias, const memory::desc& c, bool has_bias)
      : primitive_{description}, scratch_bytes_{description.scratchpad_desc().get_size()} {
    add(DNNL_ARG_SRC, a);
    add(DNNL_ARG_WEIGHTS, b);
    add(DNNL_ARG_DST, c);
    add(DNNL_ARG_SCRATCHPAD, description.scratchpad_desc());
    if (has_bias) add(DNNL_ARG_BIAS, bias);
  }
  void add(int argument, const memory::desc& description) {
    memory_[count_] = memory(description, onednn_engine(), nullptr);
    arguments_[count_] = {argument, memory_[count_].get()};
    ++count_;
  }

  dnnl::matmul primitive_;
  size_t scratch_bytes_;
  int count_ = 0;
  std::array<memory, kMost> memory_;
  std::array<dnnl_exec_arg_t, kMost> arguments_;
};

// oneDNN 3.7 errs where a has a single row, or c a single column, whose elements lie apart.
bool is_scattered(const MatrixProduct& p) { return (p.m == 1 && p.a_column != 1) || (p.n == 1 && p.c_row != 1); }

void copy_elements(int64_t n, const void* from, int64_t from_step, void* to, int64_t to_step, int64_t size) {
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(static_cast<char*>(to) + i * to_step * size, static_cast<const char*>(from) + i * from_step * size,
                static_cast<size_t>(size));
  }
}

// By way of copies without gaps.
bool multiply_scattered(const MatrixProduct& p) {
  MatrixProduct q = p;
  const Array row = empty({p.m == 1 ? p.k : 0}, p.dtype, Device()),
              column = empty({p.n == 1 ? p.m : 0}, p.c_dtype, Device());
  if (p.m == 1) {
    copy_elements(p.k, p.a, p.a_column, row.raw_data(), 1, itemsize(p.dtype));
    q.a = row.raw_data();
    q.a_row = p.k;
    q.a_column = 1;
  }
  if (p.n == 1) {
    q.c = column.raw_data();
    q.c_row = 1;
  }
  if (!multiply_with_onednn(q)) return false;
  if (p.n == 1) copy_elements(p.m, q.c, 1, p.c, p.c_row, itemsize(p.c_dtype));
  return true;
}

constinit ForkSafeMutex making;  // oneDNN locks caches of its own, which fork() does not know

constexpr size_t kMostKept = 1024;  // per thread; a program with more shapes starts afresh

struct KeptProducts {
  std::unordered_map<Key, std::unique_ptr<Product>, KeyHash> products;
  const Key* last_key = nullptr;
  Product* last = nullptr;
};

}  // namespace

bool multiply_with_onednn(const MatrixProduct& p) {
  if (is_scattered(p)) return multiply_scattered(p);
  static constinit thread_local KeptProducts* own __attribute__((tls_model("initial-exec"))) = nullptr;
  KeptProducts& kept = kusari::detail::thread_owned(own);
  const OneDnnSingleThread single_thread;
  const Key key = key_of(p);
  if (kept.last_key == nullptr || !(*kept.last_key == key)) {
    auto found = kept.products.find(key);
    if (found == kept.products.end()) {
      if (kept.products.size() >= kMostKept) kept.products.clear();
      kept.last_key = nullptr;
      const std::scoped_lock lock(making);
      found = kept.products.emplace(key, Product::create(p)).first;
    }
    kept.last_key = &found->first;
    kept.last = found->second.get();
  }
  if (kept.last == nullptr) return false;
  (*kept.last)(p);
  return true;
}

}  // namespace kusari::cpu

#else

namespace kusari::cpu {

bool multiply_with_onednn(const MatrixProduct&) { return false; }

}  // namespace kusari::cpu

#endif
