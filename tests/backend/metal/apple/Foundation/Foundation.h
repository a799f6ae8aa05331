// Declarations of what device_macos.mm calls of Foundation, from its documentation: enough to check
// the syntax and the types of that file on other systems.
#pragma once

using NSInteger = long;
using NSUInteger = unsigned long;
using BOOL = bool;
#define nil nullptr

@interface NSObject
+ (instancetype)alloc;
- (instancetype)init;
@end

@class NSURL;

@interface NSString : NSObject
+ (instancetype)stringWithUTF8String:(const char*)text;
- (const char*)UTF8String;
@end

@interface NSNumber : NSObject
+ (NSNumber*)numberWithLongLong:(long long)value;
- (long long)longLongValue;
@end

@interface NSArray<Element> : NSObject
- (NSUInteger)countByEnumeratingWithState:(void*)state objects:(id*)objects count:(NSUInteger)count;
@end

@interface NSMutableArray<Element> : NSArray <Element>
+ (instancetype)array;
- (void)addObject:(Element)object;
@end

@interface NSMutableDictionary<Key, Object> : NSObject
+ (instancetype)dictionary;
- (void)setObject:(Object)object forKey:(Key)key;
@end

@interface NSError : NSObject
- (NSString*)localizedDescription;
@end

@interface NSURL : NSObject
+ (NSURL*)fileURLWithPath:(NSString*)path;
@end

@interface NSFileManager : NSObject
+ (NSFileManager*)defaultManager;
- (BOOL)removeItemAtURL:(NSURL*)url error:(NSError**)error;
@end
