#include "kusari/framework/core/dlpack.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"

using namespace kusari;

namespace {

/// A tensor of another library, which counts how often it is deleted.
template <class Managed>
struct Foreign {
  std::vector<float> values{1, 2, 3, 4, 5, 6};
  std::vector<int64_t> shape{2, 3};
  std::vector<int64_t> strides{1, 2};
  int deleted = 0;
  Managed managed{};

  Foreign() {
    managed.dl_tensor = {values.data(), {dlpack::kCpu, 0}, 2, {dlpack::kFloat, 32, 1}, shape.data(), strides.data(), 0};
    managed.manager_ctx = this;
    managed.deleter = [](Managed* self) { ++static_cast<Foreign*>(self->manager_ctx)->deleted; };
  }
};

}  // namespace

TEST_CASE("to_dlpack hands out the elements with their strides and keeps them alive") {
  Array x = arange(24).reshape({2, 3, 4}).transpose({2, 0, 1}).slice(0, 1, 2);
  const void* data = x.raw_data();
  const uint32_t before = x.storage().references;
  dlpack::ManagedTensor* tensor = to_dlpack(x);
  CHECK(tensor->dl_tensor.data == data);
  CHECK(tensor->dl_tensor.byte_offset == 0);
  CHECK(tensor->dl_tensor.device.device_type == 1);
  CHECK(tensor->dl_tensor.ndim == 3);
  CHECK(std::vector<int64_t>(tensor->dl_tensor.shape, tensor->dl_tensor.shape + 3) == std::vector<int64_t>{2, 2, 3});
  CHECK(std::vector<int64_t>(tensor->dl_tensor.strides, tensor->dl_tensor.strides + 3) ==
        std::vector<int64_t>{1, 12, 4});
  x = Array();
  CHECK(static_cast<float*>(tensor->dl_tensor.data)[0] == 1.0f);
  tensor->deleter(tensor);
  CHECK(before == 1);
  CHECK_THROWS_AS(to_dlpack(Array()), ValueError);
}

TEST_CASE("dlpack: every dtype goes out and comes back as itself") {
  struct Case {
    Dtype dtype;
    int code, bits;
  };
  // Codes of dlpack.h: int 0, uint 1, float 2, bfloat 4, bool 6.
  for (const Case& c : {Case{Dtype::bool_, 6, 8},
                        {Dtype::uint8, 1, 8},
                        {Dtype::int8, 0, 8},
                        {Dtype::int32, 0, 32},
                        {Dtype::int64, 0, 64},
                        {Dtype::float16, 2, 16},
                        {Dtype::bfloat16, 4, 16},
                        {Dtype::float32, 2, 32},
                        {Dtype::float64, 2, 64}}) {
    CAPTURE(name(c.dtype));
    const Array x = arange(4).astype(c.dtype);
    dlpack::ManagedTensorVersioned* tensor = to_dlpack_versioned(x);
    CHECK(tensor->version.major == 1);
    CHECK(tensor->flags == 0);
    CHECK(tensor->dl_tensor.dtype.code == c.code);
    CHECK(tensor->dl_tensor.dtype.bits == c.bits);
    CHECK(tensor->dl_tensor.dtype.lanes == 1);
    const Array back = from_dlpack(tensor);
    CHECK(back.dtype() == c.dtype);
    CHECK(back.raw_data() == x.raw_data());
    CHECK(back.to_vector<double>() == x.to_vector<double>());
  }
}

TEST_CASE("from_dlpack views the elements and deletes the tensor with the last view") {
  Foreign<dlpack::ManagedTensor> foreign;
  {
    Array row;
    {
      const Array x = from_dlpack(&foreign.managed);
      CHECK(x.shape() == Shape{2, 3});
      CHECK(x.to_vector<int>() == std::vector<int>{1, 3, 5, 2, 4, 6});
      x.fill(9);
      row = x.at(1);
    }
    CHECK(foreign.deleted == 0);
    CHECK(row.to_vector<int>() == std::vector<int>{9, 9, 9});
  }
  CHECK(foreign.deleted == 1);
  CHECK(foreign.values == std::vector<float>(6, 9));
}

TEST_CASE("from_dlpack: no strides mean C order; an offset counts bytes; no elements") {
  Foreign<dlpack::ManagedTensor> foreign;
  foreign.managed.dl_tensor.strides = nullptr;
  foreign.managed.dl_tensor.byte_offset = 8;
  foreign.shape = {2, 2};
  foreign.managed.dl_tensor.shape = foreign.shape.data();
  CHECK(from_dlpack(&foreign.managed).to_vector<int>() == std::vector<int>{3, 4, 5, 6});
  CHECK(foreign.deleted == 1);
  foreign.shape[0] = 0;
  foreign.managed.dl_tensor.data = nullptr;
  CHECK(from_dlpack(&foreign.managed).shape() == Shape{0, 2});
  CHECK(foreign.deleted == 2);
}

TEST_CASE("from_dlpack copies what is read-only") {
  Foreign<dlpack::ManagedTensorVersioned> foreign;
  foreign.managed.version = {1, 3};
  foreign.managed.flags = dlpack::kReadOnly;
  const Array x = from_dlpack(&foreign.managed);
  CHECK(foreign.deleted == 1);
  x.fill(0);
  CHECK(foreign.values[0] == 1.0f);
}

TEST_CASE("from_dlpack refuses what it cannot hold, and leaves it to the caller") {
  Foreign<dlpack::ManagedTensor> foreign;
  dlpack::Tensor& t = foreign.managed.dl_tensor;
  const dlpack::Tensor good = t;
  CHECK_THROWS_AS(from_dlpack(static_cast<dlpack::ManagedTensor*>(nullptr)), ValueError);
  t.dtype = {5, 64, 1};
  CHECK_THROWS_WITH_AS(from_dlpack(&foreign.managed),
                       "from_dlpack: the tensor has type code 5, 64 bits and 1 lanes: Kusari has no such dtype",
                       TypeError);
  t.dtype = {dlpack::kFloat, 32, 4};
  CHECK_THROWS_AS(from_dlpack(&foreign.managed), TypeError);
  t = good;
  t.device.device_type = 7;
  CHECK_THROWS_WITH_AS(from_dlpack(&foreign.managed), doctest::Contains("device of type 7"), DeviceError);
  t = good;
  t.ndim = 9;
  CHECK_THROWS_AS(from_dlpack(&foreign.managed), ValueError);
  t = good;
  t.data = nullptr;
  CHECK_THROWS_AS(from_dlpack(&foreign.managed), ValueError);
  t = good;
  t.byte_offset = 2;
  CHECK_THROWS_WITH_AS(from_dlpack(&foreign.managed), doctest::Contains("not aligned"), ValueError);
  t = good;
  foreign.shape[0] = -1;
  CHECK_THROWS_AS(from_dlpack(&foreign.managed), ValueError);
  CHECK(foreign.deleted == 0);
  Foreign<dlpack::ManagedTensorVersioned> newer;
  newer.managed.version = {2, 0};
  CHECK_THROWS_WITH_AS(from_dlpack(&newer.managed), "from_dlpack: the tensor has version 2.0: only 1 is known",
                       ValueError);
  CHECK(newer.deleted == 0);
}
