package ensures.harness;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.MalformedURLException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Enumeration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** A project's classes, fresh for each execution, the changed ones in front; what it depends on comes from the parent. */
final class SubjectLoader extends ClassLoader {
    static {
        registerAsParallelCapable();
    }

    private static final Map<String, byte[]> READ = new ConcurrentHashMap<>();
    private static final byte[] NONE = new byte[0];

    private final List<Path> folders;
    private final Map<String, byte[]> changed;

    SubjectLoader(List<Path> folders, Map<String, byte[]> changed, ClassLoader parent) {
        super(parent);
        this.folders = folders;
        this.changed = changed;
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        synchronized (getClassLoadingLock(name)) {
            Class<?> found = findLoadedClass(name);
            if (found == null) {
                byte[] code = changed.get(name);
                if (code == null) {
                    code = bytes(name);
                }
                if (code != null) {
                    int dot = name.lastIndexOf('.');
                    if (dot > 0 && getDefinedPackage(name.substring(0, dot)) == null) {
                        definePackage(name.substring(0, dot), null, null, null, null, null, null, null);
                    }
                    found = defineClass(name, code, 0, code.length);
                } else {
                    found = getParent().loadClass(name);
                }
            }
            if (resolve) {
                resolveClass(found);
            }
            return found;
        }
    }

    private byte[] bytes(String name) {
        byte[] code = READ.computeIfAbsent(name, key -> {
            String path = key.replace('.', '/') + ".class";
            for (Path folder : folders) {
                Path file = folder.resolve(path);
                if (Files.isRegularFile(file)) {
                    try {
                        return Files.readAllBytes(file);
                    } catch (IOException unreadable) {
                        return NONE;
                    }
                }
            }
            return NONE;
        });
        return code == NONE ? null : code;
    }

    @Override
    public InputStream getResourceAsStream(String name) {
        if (name.endsWith(".class")) {
            byte[] code = changed.get(name.substring(0, name.length() - 6).replace('/', '.'));
            if (code != null) {
                return new ByteArrayInputStream(code);
            }
        }
        URL url = getResource(name);
        try {
            return url == null ? null : url.openStream();
        } catch (IOException unreadable) {
            return null;
        }
    }

    @Override
    public URL getResource(String name) {
        URL own = findResource(name);
        return own != null ? own : getParent().getResource(name);
    }

    @Override
    protected URL findResource(String name) {
        for (Path folder : folders) {
            Path file = folder.resolve(name);
            if (Files.exists(file)) {
                try {
                    return file.toUri().toURL();
                } catch (MalformedURLException impossible) {
                    return null;
                }
            }
        }
        return null;
    }

    @Override
    protected Enumeration<URL> findResources(String name) {
        List<URL> found = new ArrayList<>();
        for (Path folder : folders) {
            Path file = folder.resolve(name);
            if (Files.exists(file)) {
                try {
                    found.add(file.toUri().toURL());
                } catch (MalformedURLException impossible) {
                    continue;
                }
            }
        }
        return Collections.enumeration(found);
    }
}
