#include "support/random.h"

#include <gtest/gtest.h>

namespace ec {
namespace {

// The expected numbers are those of numpy.random.RandomState.
TEST(RandomState, UniformNumbersOfNumpy) {
  RandomState random(7);
  EXPECT_EQ(random.uniform(), 0.07630828937395717);
  EXPECT_EQ(random.uniform(), 0.7799187922401146);
  EXPECT_EQ(random.uniform(), 0.4384092314408935);
  double last = 0.0;
  for (int i = 3; i < 1000; ++i) last = random.uniform();  // more than one refill
  EXPECT_EQ(last, 0.016448753231374513);
  EXPECT_EQ(RandomState(0xffffffffu).uniform(), 0.0976320289940138);
}

TEST(RandomState, NormalNumbersOfNumpy) {
  RandomState random(7);
  EXPECT_DOUBLE_EQ(random.normal(), 1.690525703800356);
  EXPECT_DOUBLE_EQ(random.normal(), -0.4659373705408328);
  EXPECT_DOUBLE_EQ(random.normal(), 0.0328201636785844);
}

TEST(RandomState, BernoulliDrawsOfNumpy) {
  RandomState random(7);
  const double p[] = {0, .25, .5, .5, .75, .9, 1, .3, .6, .4};
  const bool expected[] = {false, true, false, true, false, true, true, false, true, false};
  for (int i = 0; i < 10; ++i) EXPECT_EQ(random.bernoulli(p[i]), expected[i]) << i;
}

TEST(RandomState, LongSeedsDiffer) {
  EXPECT_NE(RandomState(uint64_t{1} << 40).uniform(), RandomState(0).uniform());
}

}  // namespace
}  // namespace ec
