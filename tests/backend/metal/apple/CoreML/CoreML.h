// Declarations of what device_macos.mm calls of Core ML, from its documentation: enough to check
// the syntax and the types of that file on other systems.
#pragma once

#import <Foundation/Foundation.h>

enum MLMultiArrayDataType : NSInteger {
  MLMultiArrayDataTypeDouble = 0x10000 | 64,
  MLMultiArrayDataTypeFloat32 = 0x10000 | 32,
  MLMultiArrayDataTypeFloat16 = 0x10000 | 16,
  MLMultiArrayDataTypeInt32 = 0x20000 | 32,
};

enum MLComputeUnits : NSInteger { MLComputeUnitsAll = 2 };

@interface MLMultiArray : NSObject
- (instancetype)initWithDataPointer:(void*)pointer
                              shape:(NSArray<NSNumber*>*)shape
                           dataType:(MLMultiArrayDataType)type
                            strides:(NSArray<NSNumber*>*)strides
                        deallocator:(void (^)(void* bytes))deallocator
                              error:(NSError**)error;
- (MLMultiArrayDataType)dataType;
- (NSArray<NSNumber*>*)shape;
- (NSArray<NSNumber*>*)strides;
- (void*)dataPointer;
@end

@interface MLFeatureValue : NSObject
+ (instancetype)featureValueWithMultiArray:(MLMultiArray*)value;
- (MLMultiArray*)multiArrayValue;
@end

@protocol MLFeatureProvider
- (MLFeatureValue*)featureValueForName:(NSString*)name;
@end

@interface MLDictionaryFeatureProvider : NSObject <MLFeatureProvider>
- (instancetype)initWithDictionary:(NSMutableDictionary<NSString*, MLFeatureValue*>*)features
                             error:(NSError**)error;
@end

@interface MLModelConfiguration : NSObject
- (void)setComputeUnits:(MLComputeUnits)units;
@end

@interface MLModel : NSObject
+ (NSURL*)compileModelAtURL:(NSURL*)url error:(NSError**)error;
+ (MLModel*)modelWithContentsOfURL:(NSURL*)url
                     configuration:(MLModelConfiguration*)configuration
                             error:(NSError**)error;
- (id<MLFeatureProvider>)predictionFromFeatures:(id<MLFeatureProvider>)features
                                          error:(NSError**)error;
@end
