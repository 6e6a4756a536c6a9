//! The methods of Hadoop's Java classes that the load generator calls. Each method is looked up by
//! name once, because one look-up costs as much as several calls.

use jni::objects::{GlobalRef, JClass, JMethodID, JObject, JStaticMethodID, JValue};
use jni::signature::{Primitive, ReturnType, TypeSignature};
use jni::sys::jvalue;
use jni::JNIEnv;

type Outcome<T> = jni::errors::Result<T>;

enum Id {
    New(JMethodID),
    Of(JMethodID),
    Static(JStaticMethodID),
}

/// A method of a Java class, resolved to its method id.
pub struct Method {
    class: GlobalRef,
    id: Id,
    returns: ReturnType,
}

impl Method {
    fn of(env: &mut JNIEnv, loader: &GlobalRef, spelt: &str) -> Outcome<Method> {
        let (kind, rest) = spelt.split_at(1);
        let (named, signature) = rest.split_at(rest.find('(').expect("a signature"));
        let (class, name) = named.split_once('#').expect("Class#method");
        let class = load(env, loader, class)?;
        let returns = match TypeSignature::from_str(signature)?.ret {
            ReturnType::Primitive(of) => ReturnType::Primitive(of),
            _ => ReturnType::Object,
        };
        let id = match kind {
            "+" => Id::New(env.get_method_id(&class, "<init>", signature)?),
            ":" => Id::Static(env.get_static_method_id(&class, name, signature)?),
            _ => Id::Of(env.get_method_id(&class, name, signature)?),
        };
        let class = env.new_global_ref(class)?;
        Ok(Method { class, id, returns })
    }

    /// Calls the method with these arguments. Returns its result, or the new object for a
    /// constructor. `on` is the object of the call, or null for a static method or a constructor.
    fn call<'l>(
        &self,
        env: &mut JNIEnv<'l>,
        on: &JObject,
        arguments: &[jvalue],
    ) -> Outcome<jni::objects::JValueOwned<'l>> {
        let class: &JClass = self.class.as_obj().into();
        // SAFETY: the method id belongs to this class. It was looked up by the signature, with
        // which the arguments of the callers and this result type agree.
        unsafe {
            match self.id {
                Id::New(id) => env
                    .new_object_unchecked(class, id, arguments)
                    .map(Into::into),
                Id::Of(id) => env.call_method_unchecked(on, id, self.returns.clone(), arguments),
                Id::Static(id) => {
                    env.call_static_method_unchecked(class, id, self.returns.clone(), arguments)
                }
            }
        }
    }

    /// Calls the method and returns the resulting object, which may be null. `on` is the object of
    /// the call, or null for a static method or a constructor.
    pub fn object<'l>(
        &self,
        env: &mut JNIEnv<'l>,
        on: &JObject,
        arguments: &[JValue],
    ) -> Outcome<JObject<'l>> {
        self.call(env, on, &raw(arguments))?.l()
    }

    /// Calls the method and returns the resulting number: 0 for void, 1 for true. `on` is the
    /// object of the call, or null for a static method.
    pub fn number(&self, env: &mut JNIEnv, on: &JObject, arguments: &[JValue]) -> Outcome<i64> {
        let given = self.call(env, on, &raw(arguments))?;
        match self.returns {
            ReturnType::Primitive(Primitive::Long) => given.j(),
            ReturnType::Primitive(Primitive::Int) => given.i().map(i64::from),
            ReturnType::Primitive(Primitive::Short) => given.s().map(i64::from),
            ReturnType::Primitive(Primitive::Boolean) => given.z().map(i64::from),
            _ => Ok(0),
        }
    }
}

fn raw(arguments: &[JValue]) -> Vec<jvalue> {
    arguments.iter().map(JValue::as_jni).collect()
}

/// Loads a Java class through the given class loader.
pub fn load<'l>(env: &mut JNIEnv<'l>, loader: &GlobalRef, name: &str) -> Outcome<JClass<'l>> {
    let name = env.new_string(name)?;
    let signature = "(Ljava/lang/String;)Ljava/lang/Class;";
    let loaded = env.call_method(loader, "loadClass", signature, &[JValue::from(&name)])?;
    Ok(JClass::from(loaded.l()?))
}

macro_rules! calls {
    ($($name:ident $spelt:expr;)*) => {
        /// The resolved methods of Hadoop's classes. Each field is named after the purpose of its
        /// method.
        pub struct Calls {
            $(pub $name: Method,)*
        }

        impl Calls {
            /// Resolves all methods, each given by kind (`+` is a constructor, `:` is static),
            /// class, name and signature.
            pub fn of(env: &mut JNIEnv, loader: &GlobalRef) -> Outcome<Calls> {
                Ok(Calls { $($name: Method::of(env, loader, $spelt)?,)* })
            }
        }
    };
}

macro_rules! fs {
    ($kind:literal, $method:literal, $signature:literal) => {
        concat!($kind, "org.apache.hadoop.fs.", $method, $signature)
    };
}

calls! {
    path fs!("+", "Path#", "(Ljava/lang/String;)V");
    uri ":java.net.URI#create(Ljava/lang/String;)Ljava/net/URI;";
    configuration "+org.apache.hadoop.conf.Configuration#()V";
    add_resource ".org.apache.hadoop.conf.Configuration#addResource(Lorg/apache/hadoop/fs/Path;)V";
    set_property ".org.apache.hadoop.conf.Configuration#set(Ljava/lang/String;Ljava/lang/String;)V";
    is_secure ":org.apache.hadoop.security.UserGroupInformation#isSecurityEnabled()Z";
    set_security ":org.apache.hadoop.security.UserGroupInformation#setConfiguration\
        (Lorg/apache/hadoop/conf/Configuration;)V";
    user ":org.apache.hadoop.security.UserGroupInformation#getCurrentUser\
        ()Lorg/apache/hadoop/security/UserGroupInformation;";
    user_name ".org.apache.hadoop.security.UserGroupInformation#getShortUserName\
        ()Ljava/lang/String;";
    client fs!(":", "FileSystem#newInstance",
        "(Ljava/net/URI;Lorg/apache/hadoop/conf/Configuration;)Lorg/apache/hadoop/fs/FileSystem;");
    client_as fs!(":", "FileSystem#newInstance",
        "(Ljava/net/URI;Lorg/apache/hadoop/conf/Configuration;Ljava/lang/String;)\
         Lorg/apache/hadoop/fs/FileSystem;");
    end_client fs!(".", "FileSystem#close", "()V");
    default_replication fs!(".", "FileSystem#getDefaultReplication",
        "(Lorg/apache/hadoop/fs/Path;)S");
    default_block_size fs!(".", "FileSystem#getDefaultBlockSize", "(Lorg/apache/hadoop/fs/Path;)J");
    flag fs!(":", "CreateFlag#valueOf", "(Ljava/lang/String;)Lorg/apache/hadoop/fs/CreateFlag;");
    flags ":java.util.EnumSet#of(Ljava/lang/Enum;)Ljava/util/EnumSet;";
    add_flag ".java.util.EnumSet#add(Ljava/lang/Object;)Z";
    file_default fs!(":", "permission.FsPermission#getFileDefault",
        "()Lorg/apache/hadoop/fs/permission/FsPermission;");
    permission fs!("+", "permission.FsPermission#", "(S)V");
    create fs!(".", "FileSystem#create",
        "(Lorg/apache/hadoop/fs/Path;Lorg/apache/hadoop/fs/permission/FsPermission;\
         Ljava/util/EnumSet;ISJLorg/apache/hadoop/util/Progressable;)\
         Lorg/apache/hadoop/fs/FSDataOutputStream;");
    open fs!(".", "FileSystem#open",
        "(Lorg/apache/hadoop/fs/Path;)Lorg/apache/hadoop/fs/FSDataInputStream;");
    append fs!(".", "FileSystem#append",
        "(Lorg/apache/hadoop/fs/Path;)Lorg/apache/hadoop/fs/FSDataOutputStream;");
    status fs!(".", "FileSystem#getFileStatus",
        "(Lorg/apache/hadoop/fs/Path;)Lorg/apache/hadoop/fs/FileStatus;");
    length fs!(".", "FileStatus#getLen", "()J");
    is_directory fs!(".", "FileStatus#isDirectory", "()Z");
    list fs!(".", "FileSystem#listStatus",
        "(Lorg/apache/hadoop/fs/Path;)[Lorg/apache/hadoop/fs/FileStatus;");
    rename fs!(".", "FileSystem#rename",
        "(Lorg/apache/hadoop/fs/Path;Lorg/apache/hadoop/fs/Path;)Z");
    delete fs!(".", "FileSystem#delete", "(Lorg/apache/hadoop/fs/Path;Z)Z");
    mkdirs fs!(".", "FileSystem#mkdirs", "(Lorg/apache/hadoop/fs/Path;)Z");
    exists fs!(".", "FileSystem#exists", "(Lorg/apache/hadoop/fs/Path;)Z");
    set_permission fs!(".", "FileSystem#setPermission",
        "(Lorg/apache/hadoop/fs/Path;Lorg/apache/hadoop/fs/permission/FsPermission;)V");
    set_xattr fs!(".", "FileSystem#setXAttr",
        "(Lorg/apache/hadoop/fs/Path;Ljava/lang/String;[B)V");
    get_xattr fs!(".", "FileSystem#getXAttr", "(Lorg/apache/hadoop/fs/Path;Ljava/lang/String;)[B");
    read fs!(".", "FSDataInputStream#read", "([BII)I");
    read_at fs!(".", "FSDataInputStream#read", "(J[BII)I");
    end_read fs!(".", "FSDataInputStream#close", "()V");
    write fs!(".", "FSDataOutputStream#write", "([BII)V");
    sync fs!(".", "FSDataOutputStream#hsync", "()V");
    end_write fs!(".", "FSDataOutputStream#close", "()V");
}
