#include "kusari/framework/datasets/stroke_digits.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/philox.h"
#include "kusari/framework/core/threads.h"

namespace kusari::datasets {
namespace {

constexpr int kSide = 28;
constexpr int kPixels = kSide * kSide;
constexpr float kGlyphHeight = 19.0f;  // pixels, before the random scale; MNIST's digits fill 20
constexpr int kStepsPerSpan = 6;       // straight pieces between two points of a smooth stroke

struct Point {
  float x, y;
};

enum class Path { straight, smooth };

struct Stroke {
  Path path;
  std::vector<Point> points;  // in a box of height 1, y downwards
};

using Glyph = std::vector<Stroke>;

/// The ways to write each digit.
const std::vector<Glyph>& glyphs(int digit) {
  constexpr Path kStraight = Path::straight, kSmooth = Path::smooth;
  static const std::vector<Glyph> kGlyphs[10] = {
      {{{kSmooth,
         {{.55f, .04f},
          {.27f, .18f},
          {.16f, .5f},
          {.26f, .84f},
          {.5f, .97f},
          {.77f, .82f},
          {.86f, .5f},
          {.76f, .17f},
          {.54f, .04f},
          {.42f, .08f}}}},
       {{kSmooth,
         {{.64f, .1f},
          {.36f, .09f},
          {.18f, .4f},
          {.21f, .76f},
          {.45f, .96f},
          {.74f, .8f},
          {.84f, .45f},
          {.7f, .13f},
          {.44f, .02f}}}},
       {{kSmooth, {{.5f, .03f}, {.3f, .25f}, {.28f, .7f}, {.48f, .97f}, {.68f, .72f}, {.7f, .28f}, {.5f, .03f}}}},
       {{kSmooth,
         {{.55f, .04f}, {.25f, .2f}, {.17f, .55f}, {.3f, .88f}, {.55f, .96f}, {.8f, .75f}, {.83f, .35f}, {.56f, .04f}}},
        {kStraight, {{.72f, .14f}, {.28f, .86f}}}}},
      {{{kStraight, {{.5f, .03f}, {.5f, .97f}}}},
       {{kSmooth, {{.54f, .03f}, {.5f, .5f}, {.47f, .97f}}}},
       {{kStraight, {{.3f, .26f}, {.53f, .05f}, {.52f, .97f}}}},
       {{kStraight, {{.32f, .24f}, {.53f, .05f}, {.53f, .95f}}}, {kStraight, {{.28f, .96f}, {.77f, .96f}}}}},
      {{{kSmooth, {{.2f, .26f}, {.35f, .07f}, {.62f, .07f}, {.78f, .28f}, {.66f, .52f}, {.4f, .76f}, {.18f, .95f}}},
        {kSmooth, {{.18f, .95f}, {.5f, .93f}, {.85f, .95f}}}},
       {{kSmooth,
         {{.2f, .22f},
          {.45f, .04f},
          {.75f, .2f},
          {.7f, .48f},
          {.42f, .78f},
          {.24f, .92f},
          {.14f, .83f},
          {.28f, .76f},
          {.5f, .88f},
          {.7f, .96f},
          {.9f, .88f}}}},
       {{kSmooth, {{.25f, .12f}, {.55f, .04f}, {.74f, .22f}, {.6f, .5f}, {.22f, .9f}}},
        {kStraight, {{.22f, .9f}, {.8f, .88f}}}}},
      {{{kSmooth, {{.2f, .15f}, {.45f, .04f}, {.72f, .14f}, {.69f, .36f}, {.42f, .47f}}},
        {kSmooth, {{.42f, .47f}, {.75f, .56f}, {.8f, .78f}, {.52f, .97f}, {.18f, .86f}}}},
       {{kStraight, {{.2f, .07f}, {.76f, .06f}, {.45f, .42f}}},
        {kSmooth, {{.45f, .42f}, {.74f, .52f}, {.78f, .78f}, {.5f, .97f}, {.18f, .86f}}}},
       {{kSmooth,
         {{.24f, .1f},
          {.56f, .04f},
          {.7f, .24f},
          {.52f, .42f},
          {.46f, .47f},
          {.6f, .5f},
          {.76f, .68f},
          {.6f, .93f},
          {.22f, .92f}}}}},
      {{{kStraight, {{.3f, .05f}, {.2f, .56f}, {.85f, .55f}}}, {kStraight, {{.68f, .1f}, {.66f, .97f}}}},
       {{kStraight, {{.62f, .97f}, {.62f, .04f}, {.15f, .64f}, {.87f, .62f}}}},
       {{kSmooth, {{.25f, .08f}, {.2f, .35f}, {.3f, .52f}, {.55f, .53f}, {.75f, .42f}}},
        {kSmooth, {{.78f, .06f}, {.74f, .5f}, {.68f, .97f}}}}},
      {{{kStraight, {{.78f, .06f}, {.3f, .06f}, {.26f, .45f}}},
        {kSmooth, {{.26f, .45f}, {.52f, .38f}, {.78f, .53f}, {.77f, .79f}, {.5f, .97f}, {.18f, .88f}}}},
       {{kSmooth,
         {{.8f, .08f}, {.45f, .06f}, {.28f, .22f}, {.34f, .42f}, {.62f, .5f}, {.77f, .7f}, {.6f, .92f}, {.2f, .92f}}}},
       {{kSmooth, {{.34f, .08f}, {.28f, .4f}, {.5f, .4f}, {.76f, .58f}, {.66f, .9f}, {.2f, .94f}}},
        {kSmooth, {{.33f, .09f}, {.58f, .1f}, {.84f, .05f}}}}},
      {{{kSmooth,
         {{.68f, .05f},
          {.38f, .25f},
          {.2f, .6f},
          {.3f, .88f},
          {.56f, .96f},
          {.78f, .8f},
          {.72f, .58f},
          {.5f, .5f},
          {.25f, .64f}}}},
       {{kSmooth,
         {{.45f, .03f},
          {.28f, .35f},
          {.2f, .7f},
          {.4f, .95f},
          {.72f, .88f},
          {.76f, .66f},
          {.52f, .56f},
          {.23f, .74f}}}},
       {{kSmooth,
         {{.75f, .1f},
          {.45f, .12f},
          {.22f, .45f},
          {.22f, .8f},
          {.5f, .96f},
          {.74f, .76f},
          {.5f, .58f},
          {.24f, .72f}}}}},
      {{{kStraight, {{.18f, .07f}, {.82f, .07f}}}, {kSmooth, {{.82f, .07f}, {.6f, .45f}, {.42f, .97f}}}},
       {{kStraight, {{.18f, .08f}, {.8f, .07f}, {.46f, .97f}}}, {kStraight, {{.36f, .5f}, {.78f, .48f}}}},
       {{kSmooth, {{.18f, .2f}, {.22f, .08f}, {.5f, .1f}, {.8f, .06f}}},
        {kSmooth, {{.8f, .06f}, {.56f, .5f}, {.5f, .97f}}}}},
      {{{kSmooth,
         {{.7f, .14f},
          {.5f, .04f},
          {.28f, .16f},
          {.34f, .38f},
          {.6f, .55f},
          {.78f, .77f},
          {.52f, .97f},
          {.22f, .8f},
          {.36f, .56f},
          {.66f, .36f},
          {.73f, .15f}}}},
       {{kSmooth, {{.5f, .46f}, {.28f, .3f}, {.32f, .1f}, {.55f, .04f}, {.75f, .18f}, {.68f, .38f}, {.5f, .46f}}},
        {kSmooth, {{.5f, .46f}, {.22f, .64f}, {.22f, .86f}, {.5f, .97f}, {.78f, .86f}, {.78f, .62f}, {.5f, .46f}}}}},
      {{{kSmooth, {{.75f, .2f}, {.52f, .05f}, {.25f, .2f}, {.28f, .44f}, {.55f, .5f}, {.76f, .24f}}},
        {kSmooth, {{.76f, .18f}, {.74f, .6f}, {.66f, .97f}}}},
       {{kSmooth, {{.74f, .22f}, {.5f, .04f}, {.24f, .22f}, {.3f, .46f}, {.58f, .46f}, {.75f, .2f}}},
        {kSmooth, {{.76f, .18f}, {.77f, .65f}, {.6f, .94f}, {.28f, .92f}}}},
       {{kSmooth,
         {{.78f, .16f},
          {.46f, .06f},
          {.28f, .3f},
          {.45f, .48f},
          {.72f, .32f},
          {.78f, .14f},
          {.68f, .55f},
          {.5f, .97f}}}}}};
  return kGlyphs[digit];
}

/// The random numbers of one image.
class Dice {
 public:
  Dice(uint64_t seed, uint64_t image) : seed_{seed}, next_{image << 16} {}
  uint32_t bits() {
    if (next_ % 4 == 0) block_ = philox_block(seed_, next_ / 4);
    return block_.word[next_++ % 4];
  }
  float uniform(float low, float high) { return low + (high - low) * (static_cast<float>(bits() >> 8) * 0x1p-24f); }
  /// Bell-shaped with deviation 1, within +-3.5: the sum of four uniform numbers.
  float bell() { return (uniform(-1, 1) + uniform(-1, 1) + uniform(-1, 1) + uniform(-1, 1)) * 0.8660254f; }
  size_t below(size_t n) { return static_cast<size_t>((uint64_t{bits()} * n) >> 32); }

 private:
  uint64_t seed_;
  uint64_t next_;
  PhiloxBlock block_ = {};
};

/// Uniform Catmull-Rom spline through b and c.
Point spline(Point a, Point b, Point c, Point d, float t) {
  const auto axis = [t](float p, float q, float r, float s) {
    return q + 0.5f * t * (r - p + t * (2 * p - 5 * q + 4 * r - s + t * (3 * (q - r) + s - p)));
  };
  return {axis(a.x, b.x, c.x, d.x), axis(a.y, b.y, c.y, d.y)};
}

std::vector<Point> flatten(const Stroke& stroke) {
  const std::vector<Point>& p = stroke.points;
  std::vector<Point> line;
  for (size_t i = 0; i + 1 < p.size(); ++i) {
    for (int k = 0; k < kStepsPerSpan; ++k) {
      const float t = static_cast<float>(k) / kStepsPerSpan;
      if (stroke.path == Path::straight) {
        line.push_back({p[i].x + t * (p[i + 1].x - p[i].x), p[i].y + t * (p[i + 1].y - p[i].y)});
      } else {
        line.push_back(spline(p[i == 0 ? 0 : i - 1], p[i], p[i + 1], p[std::min(i + 2, p.size() - 1)], t));
      }
    }
  }
  line.push_back(p.back());
  return line;
}

/// A slow wave that bends the page.
struct Wave {
  float kx, ky, phase, dx, dy;
  explicit Wave(Dice& dice)
      : kx{dice.uniform(-7, 7)},
        ky{dice.uniform(-7, 7)},
        phase{dice.uniform(0, 6.2831853f)},
        dx{0.036f * dice.bell()},
        dy{0.036f * dice.bell()} {}
  Point operator()(Point p) const {
    const float s = std::sin(kx * p.x + ky * p.y + phase);
    return {p.x + dx * s, p.y + dy * s};
  }
};

/// The pen lines of one image, in pixels.
std::vector<std::vector<Point>> write(int digit, Dice& dice) {
  const std::vector<Glyph>& variants = glyphs(digit);
  Glyph glyph = variants[dice.below(variants.size())];
  for (Stroke& stroke : glyph) {
    for (Point& p : stroke.points) p = {p.x + 0.031f * dice.bell(), p.y + 0.031f * dice.bell()};
    if (stroke.points.size() > 4) {  // the pen lands early or late and leaves early or late
      const float start = dice.uniform(-0.3f, 0.35f), end = dice.uniform(-0.3f, 0.35f);
      Point& first = stroke.points.front();
      Point& last = stroke.points.back();
      const Point second = stroke.points[1], before = stroke.points[stroke.points.size() - 2];
      first = {first.x + start * (second.x - first.x), first.y + start * (second.y - first.y)};
      last = {last.x + end * (before.x - last.x), last.y + end * (before.y - last.y)};
    }
  }
  const Wave first(dice), second(dice);
  const float angle = 0.13f * dice.bell(), slant = 0.22f * dice.bell() - 0.12f;
  const float height = kGlyphHeight * dice.uniform(0.82f, 1.06f), width = height * dice.uniform(0.68f, 1.08f);
  const float cosine = std::cos(angle), sine = std::sin(angle);
  std::vector<std::vector<Point>> lines;
  Point low{1e9f, 1e9f}, high{-1e9f, -1e9f};
  for (const Stroke& stroke : glyph) {
    std::vector<Point> line = flatten(stroke);
    for (Point& p : line) {
      const Point bent = second(first(p));
      const float x = width * (bent.x - 0.5f - slant * (bent.y - 0.5f)), y = height * (bent.y - 0.5f);
      p = {cosine * x - sine * y, sine * x + cosine * y};
      low = {std::min(low.x, p.x), std::min(low.y, p.y)};
      high = {std::max(high.x, p.x), std::max(high.y, p.y)};
    }
    lines.push_back(std::move(line));
  }
  const Point shift{0.5f * (kSide - low.x - high.x) + 0.9f * dice.bell(),
                    0.5f * (kSide - low.y - high.y) + 0.9f * dice.bell()};
  for (auto& line : lines) {
    for (Point& p : line) p = {p.x + shift.x, p.y + shift.y};
  }
  return lines;
}

/// Darkens the pixels that a pen of radius r covers on its way from a to b; edges are one pixel soft.
void draw(Point a, Point b, float r, float ink, float* image) {
  const auto clamp = [](float v) { return std::clamp(static_cast<int>(v), 0, kSide - 1); };
  const int x0 = clamp(std::min(a.x, b.x) - r - 1), x1 = clamp(std::max(a.x, b.x) + r + 1);
  const int y0 = clamp(std::min(a.y, b.y) - r - 1), y1 = clamp(std::max(a.y, b.y) + r + 1);
  const float dx = b.x - a.x, dy = b.y - a.y, length2 = std::max(dx * dx + dy * dy, 1e-9f);
  for (int y = y0; y <= y1; ++y) {
    for (int x = x0; x <= x1; ++x) {
      const float px = static_cast<float>(x) + 0.5f - a.x, py = static_cast<float>(y) + 0.5f - a.y;
      const float t = std::clamp((px * dx + py * dy) / length2, 0.0f, 1.0f);
      const float ex = px - t * dx, ey = py - t * dy;
      const float covered = std::clamp(r + 0.5f - std::sqrt(ex * ex + ey * ey), 0.0f, 1.0f);
      float& pixel = image[y * kSide + x];
      pixel = std::max(pixel, ink * covered);
    }
  }
}

void render(int digit, Dice& dice, float scale, float* image) {
  std::fill(image, image + kPixels, 0.0f);
  const float radius = dice.uniform(0.55f, 1.65f), ink = dice.uniform(0.75f, 1.0f);
  const float dryness = std::max(0.0f, dice.uniform(-0.6f, 0.45f));  // most pens are not dry
  for (const std::vector<Point>& line : write(digit, dice)) {
    const float phase = dice.uniform(0, 6.2831853f), pressure = dice.uniform(0.05f, 0.25f);
    for (size_t i = 0; i + 1 < line.size(); ++i) {
      const float wave = std::sin(0.35f * static_cast<float>(i) + phase);
      draw(line[i], line[i + 1], radius * (1 + pressure * wave), ink * (1 - dryness * (0.5f + 0.5f * wave)), image);
    }
  }
  const float noise = dice.uniform(0.0f, 0.05f);
  for (int i = 0; i < kPixels; ++i) {
    float value = image[i];
    if (value > 0) value += noise * dice.bell();
    if (dice.bits() < 0x00400000u) value = std::max(value, dice.uniform(0.1f, 0.7f));   // dust: one pixel in 1024
    image[i] = std::floor(std::clamp(value, 0.0f, 1.0f) * 255 + 0.5f) * (scale / 255);  // 8 bits, as a scanner gives
  }
}

TupleDataset make(const StrokeDigitsOptions& options, int64_t n, uint64_t first_image) {
  const Array labels = empty({n}, Dtype::int32);
  const Array images = empty({n, kPixels});
  parallel_for(n, 256, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Dice dice(options.seed, first_image + static_cast<uint64_t>(i));
      const int digit = static_cast<int>(dice.below(10));
      labels.data<int32_t>()[i] = digit;
      render(digit, dice, static_cast<float>(options.scale), images.data<float>() + i * kPixels);
    }
  });
  switch (options.ndim) {
    case 1:
      return TupleDataset(images, labels);
    case 2:
      return TupleDataset(images.reshape({n, kSide, kSide}), labels);
    default:
      return TupleDataset(images.reshape({n, 1, kSide, kSide}), labels);
  }
}

}  // namespace

TrainTest get_stroke_digits(const StrokeDigitsOptions& options) {
  if (options.ndim < 1 || options.ndim > 3) {
    throw ValueError("get_stroke_digits: ndim is " + std::to_string(options.ndim) + ": it must be 1, 2 or 3");
  }
  if (options.n_train < 0 || options.n_test < 0) {
    throw ValueError("get_stroke_digits: n_train is " + std::to_string(options.n_train) + " and n_test is " +
                     std::to_string(options.n_test) + ": they must not be negative");
  }
  constexpr uint64_t kFirstTestImage = uint64_t{1} << 40;  // far from every training image
  return {make(options, options.n_train, 0), make(options, options.n_test, kFirstTestImage)};
}

}  // namespace kusari::datasets
