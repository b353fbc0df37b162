#include "kusari/cuda/plans/pooling_geometry.h"

#include <map>
#include <utility>

#include <doctest/doctest.h>

namespace kusari::cuda::pooling {
namespace {

using kernels::Pooling;

// (pixel of x, pixel of y) to the place in the window; pixels are counted in C order, images included.
using Pairs = std::map<std::pair<int64_t, int64_t>, int>;

Pooling pooling_of(int ndim, int64_t ksize, int64_t stride, int64_t pad) {
  Pooling pooling;
  pooling.ndim = ndim;
  for (int i = 0; i < ndim; ++i) {
    pooling.ksize[i] = ksize + i % 2;  // not square
    pooling.stride[i] = stride;
    pooling.pad[i] = pad;
  }
  return pooling;
}

// By trying every pixel of a window of every pixel of y.
Pairs pairs_of(const Pooling& pooling, const Shape& x, const Shape& y) {
  Pairs pairs;
  int64_t y_pixels = y[0];
  for (int i = 0; i < pooling.ndim; ++i) y_pixels *= y[2 + i];
  const int64_t places = window_size(pooling);
  for (int64_t to = 0; to < y_pixels; ++to) {
    for (int64_t number = 0; number < places; ++number) {
      int64_t rest = to, window = number, from = 0, step = 1;
      bool exists = true;
      for (int i = pooling.ndim - 1; i >= 0; --i) {
        const int64_t at = rest % y[2 + i] * pooling.stride[i] - pooling.pad[i] + window % pooling.ksize[i];
        rest /= y[2 + i];
        window /= pooling.ksize[i];
        exists = exists && at >= 0 && at < x[2 + i];
        from += at * step;
        step *= x[2 + i];
      }
      if (exists) pairs[{rest * step + from, to}] = static_cast<int>(number);
    }
  }
  return pairs;
}

// What the threads visit.
template <bool kBackward>
Pairs visited(const Geometry& g, int64_t* places_inside) {
  Pairs pairs;
  for (int64_t target = 0; target < g.total; ++target) {
    int64_t rest = target;
    g.packs.take(rest);
    const int w = g.columns.targets.take(rest), h = g.rows.targets.take(rest);
    const int first_w = g.columns.first<kBackward>(w), first_h = g.rows.first<kBackward>(h);
    for (int64_t outer = 0; outer < g.outer_count; ++outer) {
      int64_t image = rest, left = outer;
      int place[kAxes], neighbour[kAxes];
      for (int i = g.outer_axes - 1; i >= 0; --i) {
        place[i] = g.outer[i].targets.take(image);
        neighbour[i] = static_cast<int>(left % g.outer[i].count);
        left /= g.outer[i].count;
      }
      Neighbour plane{image, 0, 1, true};
      for (int i = 0; i < g.outer_axes; ++i) {
        plane = plane.along<kBackward>(g.outer[i], place[i], g.outer[i].first<kBackward>(place[i]), neighbour[i]);
      }
      for (int i = 0; i < g.rows.count; ++i) {
        const Neighbour row = plane.along<kBackward>(g.rows, h, first_h, i);
        for (int j = 0; j < g.columns.count; ++j) {
          const Neighbour one = row.along<kBackward>(g.columns, w, first_w, j);
          if (!one.exists) continue;
          const int64_t pixel = target / g.packs.size();
          const auto key = kBackward ? std::pair(pixel, one.source) : std::pair(one.source, pixel);
          const auto [at, is_new] = pairs.try_emplace(key, one.number);
          CHECK((is_new || target % g.packs.size() != 0));
          *places_inside += one.inside;
        }
      }
    }
  }
  return pairs;
}

TEST_CASE("pooling geometry: windows and pixels find each other, with the same place in the window") {
  struct Case {
    Shape x, y;
    int64_t ksize, stride, pad;
  };
  // Windows that overlap, touch, leave gaps, hang over the edge, or lie in the padding.
  const Case cases[] = {{{2, 8, 9}, {2, 8, 5}, 3, 2, 1},
                        {{1, 4, 7, 6}, {1, 4, 7, 5}, 3, 1, 1},
                        {{2, 4, 8, 9}, {2, 4, 4, 4}, 2, 2, 0},
                        {{1, 8, 10, 7}, {1, 8, 4, 3}, 2, 3, 0},
                        {{1, 4, 5, 5}, {1, 4, 4, 4}, 4, 2, 3},
                        {{2, 4, 4, 5, 6}, {2, 4, 2, 3, 3}, 3, 2, 1},
                        {{1, 4, 3, 2, 4, 3}, {1, 4, 2, 1, 2, 2}, 2, 2, 1},
                        {{0, 4, 5, 5}, {0, 4, 2, 2}, 2, 2, 0}};
  for (const Case& c : cases) {
    CAPTURE(to_string(c.x));
    const Pooling pooling = pooling_of(c.x.ndim() - 2, c.ksize, c.stride, c.pad);
    const Pairs expected = pairs_of(pooling, c.x, c.y);
    for (const int pack : {1, 4}) {
      const Geometry forward(pooling, c.x, c.y, pack, false), backward(pooling, c.x, c.y, pack, true);
      CHECK(forward.total == numel(c.y) / pack);
      CHECK(backward.total == numel(c.x) / pack);
      CHECK(int64_t{forward.blocks()} * kThreads >= forward.total);
      int64_t ones = 0, inside = 0;
      CHECK(visited<false>(forward, &ones) == expected);
      CHECK(visited<true>(backward, &inside) == expected);
      // A window with n places inside is visited n times, and says n each time.
      std::map<int64_t, int64_t> places;
      for (const auto& [pair, number] : expected) ++places[pair.second];
      int64_t squares = 0;
      for (const auto& [window, n] : places) squares += n * n;
      CHECK(inside == squares * (c.x[1] / pack));
    }
  }
}

TEST_CASE("pooling geometry: which neighbours are unrolled") {
  const Shape x = {1, 8, 12, 12}, y = {1, 8, 6, 6};
  Pooling pooling;
  pooling.ndim = 2;
  for (int i = 0; i < 2; ++i) {
    pooling.ksize[i] = 3;
    pooling.stride[i] = 2;
    pooling.pad[i] = 1;
  }
  CHECK(Geometry(pooling, x, y, 8, false).square() == 3);
  CHECK(Geometry(pooling, x, y, 8, true).square() == 2);
  pooling.ksize[0] = 5;
  CHECK(Geometry(pooling, x, y, 8, false).square() == 0);
}

TEST_CASE("pooling geometry: more pixels than 32 bits count") {
  const int64_t n = int64_t{1} << 20;
  const Pooling pooling = pooling_of(1, 2, 2, 0);
  const Geometry g(pooling, {n, 64, 128}, {n, 64, 64}, 1, true);
  CHECK(g.total == n * 64 * 128);
  CHECK(int64_t{g.blocks()} * kThreads >= g.total);
  int64_t rest = g.total - 1;
  CHECK(g.packs.take(rest) == 63);
  CHECK(g.columns.targets.take(rest) == 127);
  CHECK(g.rows.targets.take(rest) == 0);
  CHECK(rest == n - 1);
}

}  // namespace
}  // namespace kusari::cuda::pooling
