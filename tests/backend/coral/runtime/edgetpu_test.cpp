// The loader of the Edge TPU's libraries, against stand-ins: no library, no device, a missing
// function, a delegate that fails, a run.
#include <gtest/gtest.h>

#include <cstdlib>

#include "backend/coral/runtime/tflite_library.h"

namespace ec::edgetpu {
namespace {

class EdgeTpu : public ::testing::Test {
 protected:
  void TearDown() override { ::unsetenv("EC_STAND_IN"); }
  static void behave(const char* how) { ::setenv("EC_STAND_IN", how, 1); }
  static Result<DeviceModel> open_model() {
    EC_TRY(const DriverLibrary driver, DriverLibrary::open(EC_STAND_IN_DRIVER));
    return DeviceModel::open(Blob::copy_of(std::span<const uint8_t>(kFile)), driver,
                             driver.devices().front(), 1, EC_STAND_IN_TFLITE);
  }
  static constexpr uint8_t kFile[] = {1, 2, 3};
};

TEST_F(EdgeTpu, LibraryIsNotInstalled) {
  const auto driver = DriverLibrary::open("libedgetpu-of-nobody.so.1");
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.error().code(), Code::DeviceUnavailable);
  EXPECT_NE(driver.error().diagnostic().hint.find("libedgetpu1-std"), std::string::npos);
}

TEST_F(EdgeTpu, FunctionIsMissing) {
  const auto driver = DriverLibrary::open(EC_STAND_IN_OLD_DRIVER);
  ASSERT_FALSE(driver.ok());
  EXPECT_NE(driver.error().diagnostic().message.find("edgetpu_version"), std::string::npos);
}

TEST_F(EdgeTpu, NoDeviceIsNormal) {
  behave("none");
  const auto driver = DriverLibrary::open(EC_STAND_IN_DRIVER);
  ASSERT_TRUE(driver.ok());
  EXPECT_TRUE(driver->devices().empty());
}

TEST_F(EdgeTpu, DeviceIsListed) {
  const auto driver = DriverLibrary::open(EC_STAND_IN_DRIVER);
  ASSERT_TRUE(driver.ok());
  EXPECT_EQ(driver->version(), "stand-in 1");
  ASSERT_EQ(driver->devices().size(), 1u);
  EXPECT_EQ(driver->devices()[0].bus, Bus::Usb);
  EXPECT_EQ(driver->devices()[0].path, "/sys/bus/usb/devices/1-1");
}

TEST_F(EdgeTpu, DelegateFails) {
  behave("broken");
  const auto model = open_model();
  ASSERT_FALSE(model.ok());
  EXPECT_NE(model.error().diagnostic().message.find("did not open"), std::string::npos);
}

TEST_F(EdgeTpu, ModelRunsAndEverythingIsFreed) {
  {
    auto model = open_model();
    ASSERT_TRUE(model.ok()) << model.error().diagnostic().message;
    DeviceModel moved = *std::move(model);
    ASSERT_EQ(moved.inputs().size(), 1u);
    EXPECT_EQ(moved.inputs()[0].name, "in");
    EXPECT_EQ(moved.inputs()[0].shape, (std::vector<int64_t>{1, 4}));
    const uint8_t bytes[] = {1, 2, 3, 255};
    const Blob input = Blob::copy_of(std::span<const uint8_t>(bytes));
    const auto results = moved.run(std::span<const Blob>(&input, 1));
    ASSERT_TRUE(results.ok());
    const auto out = (*results)[0].bytes();
    EXPECT_EQ(static_cast<int>(out[0]), 2);
    EXPECT_EQ(static_cast<int>(out[3]), 0);
    const uint8_t few[] = {1};
    const Blob wrong = Blob::copy_of(std::span<const uint8_t>(few));
    EXPECT_EQ(moved.run(std::span<const Blob>(&wrong, 1)).error().code(), Code::InputShapeMismatch);
  }
  const auto driver = SharedLibrary::open(EC_STAND_IN_DRIVER);
  int (*delegates)() = nullptr;
  ASSERT_TRUE(driver->resolve("stand_in_delegates", delegates).ok());
  EXPECT_EQ(delegates(), 0);
}

TEST_F(EdgeTpu, FailuresOfTheRuntimeAreTold) {
  for (const char* how : {"refuse", "allocate"}) {
    behave(how);
    EXPECT_FALSE(open_model().ok()) << how;
  }
  behave("");
  auto model = open_model();
  ASSERT_TRUE(model.ok());
  behave("invoke");
  const uint8_t bytes[] = {1, 2, 3, 4};
  const Blob input = Blob::copy_of(std::span<const uint8_t>(bytes));
  EXPECT_EQ(model->run(std::span<const Blob>(&input, 1)).error().code(), Code::ExecutionFailed);
}

}  // namespace
}  // namespace ec::edgetpu
