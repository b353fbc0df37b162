#include "kusari/framework/kernels/image_batch.h"

#include <algorithm>

#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/pack_access.cuh"
#include "kusari/cuda/kernels/source.cuh"
#include "kusari/cuda/kernels/strided_index.cuh"
#include "kusari/cuda/runtime/register.h"
#include "kusari/framework/kernels/pixel_scale.h"

namespace kusari::cuda {
namespace {

/// Divisible by 3 and 4: all elements that a thread sees begin with the same channel.
constexpr int kBlock = 192, kInFlight = 4;

template <class C>
struct Scales {
  static constexpr int kCount = kernels::ChannelScales::kMaxChannels;
  C mean[kCount], scale[kCount];

  explicit Scales(const kernels::ChannelScales& given) {
    for (int c = 0; c < kCount; ++c) {
      mean[c] = static_cast<C>(given.mean[c]);
      scale[c] = static_cast<C>(given.scale[c]);
    }
  }
};

/// Which images are mirrored; all alike without flags.
struct Flags {
  const uint8_t* data = nullptr;
  int64_t stride = 0;

  explicit Flags(const Array& mirrored) {
    if (!mirrored.is_defined()) return;
    data = mirrored.data<uint8_t>();
    stride = mirrored.strides()[0];
  }
  __device__ __forceinline__ bool operator()(int64_t n) const { return data != nullptr && data[n * stride] != 0; }
};

/// Images of kChannels that lie without gaps, channels innermost, as one run of elements.
struct Run {
  int64_t total;
  Divisor image, line;  // elements
  uint32_t width;       // pixels

  explicit Run(const Shape& shape)
      : total{numel(shape)},
        image{shape[1] * shape[2] * shape[3]},
        line{shape[1] * shape[3]},
        width{static_cast<uint32_t>(shape[3])} {}

  __device__ __forceinline__ int64_t image_of(int64_t at) const {
    return total <= kNarrow ? image.quotient(static_cast<uint32_t>(at)) : at / image.value();
  }
};

/// Elements of x for a pack of y that begins at element `at`, which is not as it lies in x, or not whole: one by one.
template <int kChannels, int kN, class X>
__device__ __forceinline__ void gather(const Run& run, const Flags& flags, const X* x, int64_t at, int64_t n,
                                       Pack<X, kN>& pack) {
  auto place = static_cast<uint32_t>(at - n * run.image.value());
  bool mirrored = flags(n);
#pragma unroll
  for (int k = 0; k < kN; ++k, ++place) {
    if (at + k >= run.total) break;
    if (place == run.image.value()) {
      place = 0;
      mirrored = flags(++n);
    }
    uint32_t from = place;
    if (mirrored) {
      const uint32_t first = run.line.quotient(place) * run.line.value(), inside = place - first;
      const uint32_t pixel = inside / kChannels, channel = inside - pixel * kChannels;
      from = first + (run.width - 1 - pixel) * kChannels + channel;
    }
    pack.at[k] = x[n * run.image.value() + from];
  }
}

/// Both in packs of kN elements, several of each thread's in flight.
template <int kChannels, int kN, class X, class Y>
__global__ void __launch_bounds__(kBlock)
    normalize_run(Run run, Flags flags, const X* x, Y* y, const __grid_constant__ Scales<Compute<Y>> scales) {
  using C = Compute<Y>;
  static_assert(kBlock % kChannels == 0);
  const int64_t packs = (run.total + kN - 1) / kN, step = int64_t{gridDim.x} * kBlock * kInFlight;
  int64_t first = int64_t{blockIdx.x} * kBlock * kInFlight + threadIdx.x;
  const int channel = static_cast<int>(threadIdx.x) * kN % kChannels;
  C mean[kChannels], scale[kChannels];
#pragma unroll
  for (int c = 0; c < kChannels; ++c) {
    mean[c] = scales.mean[(channel + c) % kChannels];
    scale[c] = scales.scale[(channel + c) % kChannels];
  }
  for (; first < packs; first += step) {
    Pack<X, kN> values[kInFlight];
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      const int64_t pack = first + j * kBlock, at = pack * kN;
      if (pack >= packs) break;
      const int64_t n = run.image_of(at);
      const int64_t end = (n + 1) * run.image.value();
      if (at + kN <= end && !flags(n)) {
        values[j] = load_pack_once<kN>(x, pack);
      } else {
        gather<kChannels, kN>(run, flags, x, at, n, values[j]);
      }
    }
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      const int64_t pack = first + j * kBlock, at = pack * kN;
      if (pack >= packs) break;
      Pack<Y, kN> result;
#pragma unroll
      for (int k = 0; k < kN; ++k) {
        const C value = static_cast<C>(widen(values[j].at[k]));
        result.at[k] = narrow<Y>(kernels::scaled_pixel(value, mean[k % kChannels], scale[k % kChannels]));
      }
      if (at + kN <= run.total) {
        store_pack<kN>(y, pack, result);
      } else {
#pragma unroll
        for (int k = 0; k < kN; ++k) {
          if (at + k < run.total) y[at + k] = result.at[k];
        }
      }
    }
  }
}

template <class X, class Y>
bool normalize_dense(const kernels::ChannelScales& given, const Array& x, const Array& mirrored, const Array& y) {
  constexpr int kN = std::min(kPackSize<X>, kPackSize<Y>);
  const Shape& shape = y.shape();
  const auto is_dense = [](const Array& images) {
    return images.shape()[1] == 1 ? images.is_contiguous() : images.is_channels_last();
  };
  if (!is_dense(x) || !is_dense(y) || !is_pack_aligned(x.raw_data()) || !is_pack_aligned(y.raw_data())) return false;
  if (shape[1] * shape[2] * shape[3] > kNarrow - kN) return false;
  const Run run(shape);
  const Scales<Compute<Y>> scales(given);
  const dim3 grid(blocks_for(run.total, int64_t{kBlock} * kInFlight * kN, 1 << 16));
  const auto start = [&]<int kChannels>() {
    enqueue(Context::of(y), {grid, dim3(kBlock)}, normalize_run<kChannels, kN, X, Y>, run, Flags(mirrored), x.data<X>(),
            y.data<Y>(), scales);
    return true;
  };
  switch (shape[1]) {
    case 1:
      return start.template operator()<1>();
    case 3:
      return start.template operator()<3>();
    case 4:
      return start.template operator()<4>();
    default:
      return false;
  }
}

/// Where images of any layout are: elements in the order in which y's lie, the innermost axis first.
struct AnyImages {
  static constexpr int kAxes = 4;
  int64_t total;
  int64_t size[kAxes], x_stride[kAxes], y_stride[kAxes];
  int channel, column;  // their axes

  AnyImages(const Array& x, const Array& y) : total{y.size()} {
    constexpr int kPlanes[] = {3, 2, 1, 0}, kPixels[] = {1, 3, 2, 0};
    const bool planes = y.shape()[1] > 1 && y.strides()[1] != 1;
    for (int i = 0; i < kAxes; ++i) {
      const int axis = planes ? kPlanes[i] : kPixels[i];
      size[i] = y.shape()[axis];
      x_stride[i] = x.strides()[axis];
      y_stride[i] = y.strides()[axis];
    }
    channel = planes ? 2 : 0;
    column = planes ? 0 : 1;
  }
};

template <class C>
__global__ void __launch_bounds__(kBlock)
    normalize_any(const __grid_constant__ AnyImages images, Flags flags, const void* x, Dtype x_dtype, Target y,
                  const __grid_constant__ Scales<C> scales) {
  const int64_t step = int64_t{gridDim.x} * kBlock;
  for (int64_t at = int64_t{blockIdx.x} * kBlock + threadIdx.x; at < images.total; at += step) {
    int64_t index[AnyImages::kAxes], rest = at;
#pragma unroll
    for (int i = 0; i < AnyImages::kAxes; ++i) {
      const int64_t quotient = images.total <= kNarrow
                                   ? static_cast<uint32_t>(rest) / static_cast<uint32_t>(images.size[i])
                                   : rest / images.size[i];
      index[i] = rest - quotient * images.size[i];
      rest = quotient;
    }
    const bool mirrored = flags(index[3]);
    int64_t from = 0, to = 0;
    C mean = 0, scale = 0;
#pragma unroll
    for (int i = 0; i < AnyImages::kAxes; ++i) {
      from += (mirrored && i == images.column ? images.size[i] - 1 - index[i] : index[i]) * images.x_stride[i];
      to += index[i] * images.y_stride[i];
      if (i == images.channel) {
        mean = scales.mean[index[i]];
        scale = scales.scale[index[i]];
      }
    }
    y.store(to, kernels::scaled_pixel(load_as<C>(x, x_dtype, from), mean, scale));
  }
}

template <class C>
void normalize_strided(const kernels::ChannelScales& scales, const Array& x, const Array& mirrored, const Array& y) {
  enqueue(Context::of(y), {dim3(blocks_for(y.size(), kBlock, 1 << 16)), dim3(kBlock)}, normalize_any<C>,
          AnyImages(x, y), Flags(mirrored), x.raw_data(), x.dtype(), Target(y), Scales<C>(scales));
}

void normalize_images(Params<kernels::ChannelScales> scales, In x, In mirrored, Out y) {
  if (y->size() == 0) return;
  visit_floating(y->dtype(), [&]<class Y>() {
    const bool done = x->dtype() == Dtype::uint8     ? normalize_dense<uint8_t, Y>(*scales, *x, *mirrored, *y)
                      : x->dtype() == Dtype::float32 ? normalize_dense<float, Y>(*scales, *x, *mirrored, *y)
                                                     : false;
    if (!done) normalize_strided<Compute<Y>>(*scales, *x, *mirrored, *y);
  });
}

}  // namespace

void register_image_batch(Backend& backend) { backend.add<kernels::NormalizeImages>(normalize_images); }

}  // namespace kusari::cuda
